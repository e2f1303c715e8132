package coltype_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink/internal/coltype"
)

func TestTypesAreReadAsTheServerWritesThem(t *testing.T) {
	for text, want := range map[string]coltype.Type{
		"bigint":                  {Text: "bigint", Name: "bigint"},
		"bigint(20) unsigned":     {Text: "bigint(20) unsigned", Name: "bigint", Args: []int{20}, Unsigned: true},
		"INT UNSIGNED ZEROFILL":   {Text: "int unsigned zerofill", Name: "int", Unsigned: true},
		"integer":                 {Text: "integer", Name: "int"},
		"bool":                    {Text: "bool", Name: "tinyint"},
		"decimal(12,2)":           {Text: "decimal(12,2)", Name: "decimal", Args: []int{12, 2}},
		"numeric( 12 )":           {Text: "numeric( 12 )", Name: "decimal", Args: []int{12, 0}},
		"decimal":                 {Text: "decimal", Name: "decimal", Args: []int{10, 0}},
		"double precision":        {Text: "double precision", Name: "double"},
		"char":                    {Text: "char", Name: "char", Args: []int{1}},
		"varchar(20)":             {Text: "varchar(20)", Name: "varchar", Args: []int{20}},
		"datetime":                {Text: "datetime", Name: "datetime", Args: []int{0}},
		"timestamp(6)":            {Text: "timestamp(6)", Name: "timestamp", Args: []int{6}},
		"bit(3)":                  {Text: "bit(3)", Name: "bit", Args: []int{3}},
		"ENUM('New','it''s',')')": {Text: "enum('New','it''s',')')", Name: "enum", Members: []string{"New", "it's", ")"}},
		"set('a', 'b')":           {Text: "set('a', 'b')", Name: "set", Members: []string{"a", "b"}},
		"point":                   {Text: "point", Name: "point"},
	} {
		got, err := coltype.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestTypesThatNoServerWritesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":               "no name",
		"(3)":            "no name",
		"varchar":        "needs its length",
		"varchar(x)":     "no number",
		"varchar(-1)":    "no number",
		"varchar(3":      "not closed",
		"varchar(1,2)":   "at most 1",
		"decimal(66)":    "1 to 65",
		"decimal(3,4)":   "1 to 65",
		"decimal(60,39)": "1 to 65",
		"datetime(7)":    "at most 6",
		"bit(65)":        "1 to 64",
		"enum":           "members",
		"enum(a)":        "members",
		"enum('a' 'b')":  "members",
		"enum('a)":       "not closed",
		"set('a',)":      "members",
	} {
		_, err := coltype.Parse(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}
