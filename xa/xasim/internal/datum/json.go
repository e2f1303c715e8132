package datum

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// storeJSON is v as MySQL stores and prints it: keys by length and bytes, a space behind colons and commas.
func storeJSON(v Value, o Options) (Value, *Problem) {
	switch {
	case o.MariaDB:
	case v.IsNumber():
		return Value{}, problem(3140, "Invalid JSON text: \"not a JSON text, may need CAST\" at position 0 in value for column '{column}'.")
	case v.Kind == Bytes:
		return Value{}, problem(3144, "Cannot create a JSON value from a string with CHARACTER SET 'binary'.")
	}
	decoder := json.NewDecoder(strings.NewReader(v.Text()))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil || decoder.More() {
		if o.MariaDB {
			return Value{}, problem(4025, "CONSTRAINT `{column}` failed for the row")
		}
		return Value{}, problem(3140, "Invalid JSON text: \"Invalid value.\" at position 0 in value for column '{column}'.")
	}
	var b strings.Builder
	writeJSON(&b, document)
	return String(b.String()), nil
}

func writeJSON(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(x, y string) int {
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			return cmp.Compare(x, y)
		})
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSONText(b, k)
			b.WriteString(": ")
			writeJSON(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, e)
		}
		b.WriteByte(']')
	case string:
		writeJSONText(b, v)
	case json.Number:
		b.WriteString(v.String())
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
}

func writeJSONText(b *strings.Builder, s string) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(s)
	b.WriteString(strings.TrimSuffix(text.String(), "\n"))
}
