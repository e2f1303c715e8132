package state

// WithStep is o with a function that is called before and between the steps of making the file.
func (o FileOptions) WithStep(f func(step string)) FileOptions {
	o.atStep = f
	return o
}

// LoseHandle closes what f writes through, as if the disk went away.
func (f *File) LoseHandle() error { return f.file.Close() }
