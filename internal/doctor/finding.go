package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a finding matters.
type Severity int

const (
	// OK was looked at and is fine.
	OK Severity = iota
	// Note is worth knowing, or could not be looked at.
	Note
	// Warning is a fault that may hurt later, or a setting that weakens what the job promises.
	Warning
	// Error keeps the job from starting, or from working.
	Error
)

var severities = []string{"ok", "note", "warning", "error"}

func (s Severity) String() string { return severities[s] }

// MarshalText implements encoding.TextMarshaler, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(severities, ", "))
	}
	*s = Severity(i)
	return nil
}

// Finding is one thing that was looked at.
type Finding struct {
	Severity Severity `json:"severity"`
	// Check is the name of the check, which stays the same from version to version: programs may rely on it.
	Check string `json:"check"`
	// Subject is what was looked at: "topic views", "broker 2".
	Subject string `json:"subject"`
	// Text is what was found, in one line.
	Text string `json:"finding"`
	// Remedy is what to do about it; empty if nothing has to be done.
	Remedy string `json:"remedy,omitempty"`
}

func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s: %s: %s", f.Severity, f.Check, f.Subject, f.Text)
	if f.Remedy != "" {
		s += " -> " + f.Remedy
	}
	return s
}

// Report is what an examination found.
type Report struct {
	Job      string    `json:"job"`
	Findings []Finding `json:"findings"`
}

// Worst is the severity of the worst finding.
func (r *Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Count returns how many findings have a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// list gathers the findings of one check.
type list struct {
	check    string
	findings []Finding
}

func (l *list) add(s Severity, subject, remedy, format string, args ...any) {
	l.findings = append(l.findings, Finding{Severity: s, Check: l.check, Subject: subject, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// silent reports whether nothing worse than ok was found about a subject.
func (l *list) silent(subject string) bool {
	return !slices.ContainsFunc(l.findings, func(f Finding) bool { return f.Subject == subject && f.Severity > OK })
}

// Unknown is the finding of a check that could not be made.
func Unknown(check, subject string, err error) Finding {
	return Finding{Severity: Note, Check: check, Subject: subject, Text: "not checked: " + oneLine(err)}
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// some joins at most five names.
func some(names []string) string {
	if n := len(names); n > 5 {
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", n-5)
	}
	return strings.Join(names, ", ")
}
