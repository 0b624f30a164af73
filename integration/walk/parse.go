package walk

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Step is one thing that a document says to do: write a file, or run commands.
type Step struct {
	// Line is where its block begins, from 1.
	Line int
	// File is the name of a file to write, with Text in it; empty for a step that runs commands.
	File, Text string
	Commands   []Command
	// Again says that the commands are repeated until their output is what is shown.
	Again bool
	// Shown is what the document shows of their output; empty if it shows nothing.
	Shown string
}

// Command is one line to run.
type Command struct {
	Text string
	// Exit is the exit code that the document says.
	Exit int
	// Beside says that the next command does not wait for its end.
	Beside bool
}

var exitCode = regexp.MustCompile(`\s+# exit code (\d+)$`)

// Parse returns the steps of a document in Markdown, in order. Blocks in other languages, and indented code, are no steps.
func Parse(document string) ([]Step, error) {
	var steps []Step
	lines := strings.Split(document, "\n")
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		begin := i + 1
		for i = begin; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block does not end", begin)
		}
		body := lines[begin:i]
		switch language {
		case "yaml":
			if len(body) == 0 || !strings.HasPrefix(body[0], "# ") {
				return nil, fmt.Errorf("line %d: the first line does not name the file", begin)
			}
			steps = append(steps, Step{Line: begin, File: body[0][2:], Text: strings.Join(body, "\n") + "\n"})
		case "sh":
			s, err := commands(body)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", begin, err)
			}
			s.Line = begin
			steps = append(steps, s)
		case "text":
			if len(steps) == 0 || len(steps[len(steps)-1].Commands) == 0 || steps[len(steps)-1].Shown != "" {
				return nil, fmt.Errorf("line %d: output without commands before it", begin)
			}
			steps[len(steps)-1].Shown = strings.Join(body, "\n")
		}
	}
	for _, s := range steps {
		if s.Again && s.Shown == "" {
			return nil, fmt.Errorf("line %d: nothing shows until when it is repeated", s.Line)
		}
	}
	return steps, nil
}

func commands(lines []string) (Step, error) {
	s := Step{}
	for i, line := range lines {
		comment, isComment := strings.CutPrefix(line, "# ")
		if isComment {
			s.Again = s.Again || i == 0 && strings.HasPrefix(comment, "again until ")
			continue
		}
		if line == "" {
			continue
		}
		c := Command{}
		if m := exitCode.FindStringSubmatch(line); m != nil {
			c.Exit, _ = strconv.Atoi(m[1])
			line = strings.TrimSuffix(line, m[0])
		}
		c.Text, c.Beside = strings.CutSuffix(line, " &")
		s.Commands = append(s.Commands, c)
	}
	if len(s.Commands) == 0 {
		return s, fmt.Errorf("no command")
	}
	return s, nil
}
