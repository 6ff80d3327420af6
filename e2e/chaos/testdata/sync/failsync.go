package syscall

// failSync gives the error of a broken disk while there is the file that WEFT_SYNC_FAILS names.
func failSync() error {
	if path, ok := Getenv("WEFT_SYNC_FAILS"); ok && Access(path, 0) == nil {
		return EIO
	}
	return nil
}
