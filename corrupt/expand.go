package corrupt

// Expand returns the corruptions that words name, by themselves or as a family or group such as "C" or "High": each
// once, in the order of the words. Errors: an unknown word, as *UnknownError.
func Expand(words []string) ([]string, error) {
	var names []string
	has := map[string]bool{}
	for _, word := range words {
		of, err := Names([]string{word})
		if err != nil {
			if _, unknown := Find(word); unknown != nil {
				return nil, unknown
			}
			of = []string{word}
		}
		for _, name := range of {
			if !has[name] {
				names = append(names, name)
				has[name] = true
			}
		}
	}
	return names, nil
}
