package fault

import "fmt"

// String is the point's text form.
func (p Point) String() string { return fmt.Sprintf("%t:%d", p.After, p.Op) }
