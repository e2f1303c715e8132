package txnsink

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// No form of a configuration, and no complaint about one, shows any part of a data source name (rule 17).
func TestConfigurationNeverShowsADataSourceName(t *testing.T) {
	for _, dsn := range []string{
		"root:hunter2@tcp(db:3306)/shop", "root:hunter2/tail@tcp(h:3306)", "root:a/b?parseTime=hunter2@tcp(h)", ":@:hunter2@",
		"root:x@unix(hunter2", "root:x@hunter2/y", "root:x@tcp(h)/d?strict=hunter2", "root:x@tcp(h)/d?sql_mode=hunter2&strict=1",
	} {
		c := Config{Job: "orders", DSN: dsn, Tables: []Table{{Name: "t"}}}
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, nil))
		logger.Info("it is", "config", c, "writer", c.writer(uuid.Nil))
		slog.New(slog.NewJSONHandler(&log, nil)).Info("it is", "config", c, "writer", c.writer(uuid.Nil))
		encoded, err := json.Marshal(c)
		require.NoError(t, err)
		for _, text := range []string{
			fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q %d", c, c, c, c, c, c), fmt.Sprintf("%+v %#v", &c, []Config{c}),
			fmt.Sprintf("%+v", c.writer(uuid.Nil)), log.String(), string(encoded), fmt.Sprint(c.check()),
		} {
			require.NotContains(t, text, "hunter2", "%s", dsn)
		}
		require.Contains(t, fmt.Sprint(c), `Job: "orders"`)
	}
}
