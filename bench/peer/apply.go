package main

// applied is an apply configuration whose bytes exist already. After the call it holds those of the answer.
type applied struct {
	apiVersion, kind, namespace, name string
	body                              []byte
}

func (a *applied) IsApplyConfiguration()        {}
func (a *applied) GetName() *string             { return &a.name }
func (a *applied) GetNamespace() *string        { return &a.namespace }
func (a *applied) GetKind() *string             { return &a.kind }
func (a *applied) GetAPIVersion() *string       { return &a.apiVersion }
func (a *applied) MarshalJSON() ([]byte, error) { return a.body, nil }
func (a *applied) UnmarshalJSON(answer []byte) error {
	a.body = append([]byte(nil), answer...)
	return nil
}
