package flights

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// texts are the columns that are not numbers.
var texts = map[string]bool{"carrier": true, "tailnum": true, "origin": true, "dest": true, "time_hour": true}

// Records reads the file that Fetch returned and makes one record of each flight: the carrier as key, the flight as JSON,
// with numbers as numbers and NA as null.
func Records(path, topic string) ([]*kgo.Record, error) {
	names, rows, err := read(path)
	if err != nil {
		return nil, err
	}
	columns := make(map[string]int, len(names))
	for i, name := range names {
		columns[name] = i
	}
	day := func(row []string) int { return number(row[columns["month"]])*100 + number(row[columns["day"]]) }
	slices.SortStableFunc(rows, func(a, b []string) int { return day(a) - day(b) })
	records := make([]*kgo.Record, len(rows))
	for i, row := range rows {
		records[i] = &kgo.Record{Topic: topic, Key: []byte(row[columns["carrier"]]), Value: encode(names, row)}
	}
	return records, nil
}

// read returns the names of the CSV's columns, and its rows.
func read(path string) (names []string, rows [][]string, err error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	defer archive.Close()
	file, err := archive.Open("flights.csv")
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	if names, err = r.Read(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	rows = make([][]string, 0, Rows)
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		rows = append(rows, row)
	}
	if len(rows) != Rows {
		return nil, nil, fmt.Errorf("%s: %d flights, want %d", path, len(rows), Rows)
	}
	return names, rows, nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// encode makes a JSON object of a row, its fields in the order of the columns.
func encode(names, row []string) []byte {
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, name)
		out = append(out, ':')
		switch value := row[i]; {
		case value == "NA" || value == "":
			out = append(out, "null"...)
		case texts[name]:
			quoted, _ := json.Marshal(value) // a string is always valid
			out = append(out, quoted...)
		default:
			out = append(out, value...)
		}
	}
	return append(out, '}')
}
