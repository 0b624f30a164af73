package flights

import (
	"encoding/json"
	"testing"
)

func TestNumbersAreNumbersAndNAIsNull(t *testing.T) {
	names := []string{"month", "dep_time", "carrier", "tailnum", "time_hour"}
	got := string(encode(names, []string{"1", "NA", "UA", "NA", "2013-01-01T10:00:00Z"}))
	want := `{"month":1,"dep_time":null,"carrier":"UA","tailnum":null,"time_hour":"2013-01-01T10:00:00Z"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
}
