package verify

// Schema is what the savepoint says of a state's values, empty if it says nothing.
func (s *store) Schema(operator, state string) string {
	if s.restored == nil {
		return ""
	}
	return s.restored.Schema(operator, state)
}
