package flights

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
)

// Shorten writes the header and the first records of File to a new file, plain.
func Shorten(path string, records int) (err error) {
	f, err := os.Open(File())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", File(), err)
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	lines := bufio.NewScanner(z)
	for n := 0; n <= records && lines.Scan(); n++ {
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}
