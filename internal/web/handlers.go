package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
)

// Status is the answer of GET /api/v1/status.
type Status struct {
	Job string `json:"job"`
	runtime.Status
	// Totals over all steps since the process started.
	RecordsIn  int64 `json:"records_in"`
	RecordsOut int64 `json:"records_out"`
	BadRecords int64 `json:"bad_records"`
	Late       int64 `json:"late_records"`
	// LastCheckpointMillis is how long the latest checkpoint took from its trigger to its commit, in milliseconds.
	LastCheckpointMillis float64 `json:"last_checkpoint_ms"`
}

// SavepointRequest is the body of POST /api/v1/savepoints; the answer repeats it when the savepoint is whole.
type SavepointRequest struct {
	// Dir is the directory (or URL). It is made if it is not there, and must not hold a savepoint already. A relative one is
	// below the job's working directory.
	Dir string `json:"dir"`
}

// Problem is the body of every answer that is not a success.
type Problem struct {
	Error string `json:"error"`
}

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "job %s\n\nGET  /metrics\nGET  /healthz\nGET  /readyz\nGET  /api/v1/status\nPOST /api/v1/savepoints\nPOST /api/v1/stop\nGET  /api/v1/stop\n", s.name)
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	if why := s.health.wedged(time.Now(), s.job.Status()); why != "" {
		problem(w, http.StatusServiceUnavailable, why)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	st := s.job.Status()
	if st.Phase != runtime.Running {
		why := string(st.Phase)
		if st.Error != "" {
			why += ": " + st.Error
		}
		problem(w, http.StatusServiceUnavailable, why)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	st := Status{Job: s.name, Status: s.job.Status(), LastCheckpointMillis: s.health.lastDuration()}
	s.job.Metrics().Each(func(_ string, _ int, m *runtime.StepMetrics) {
		st.RecordsIn += m.RecordsIn.Load()
		st.RecordsOut += m.RecordsOut.Load()
		st.BadRecords += m.BadRecords.Load()
		st.Late += m.Late.Load()
	})
	answer(w, http.StatusOK, st)
}

func (s *Server) savepoint(w http.ResponseWriter, r *http.Request) {
	var req SavepointRequest
	if err := decode(r, &req); err != nil {
		problem(w, http.StatusBadRequest, `the body is not {"dir": "..."}: `+err.Error())
		return
	}
	if req.Dir == "" {
		problem(w, http.StatusBadRequest, "dir is missing: the directory or URL to write the savepoint to")
		return
	}
	if p := s.job.Status().Phase; p != runtime.Running {
		problem(w, http.StatusConflict, fmt.Sprintf("the job is not running: %s", p))
		return
	}
	// Known without a checkpoint, for a directory that this process can see.
	if _, err := os.Stat(filepath.Join(req.Dir, checkpoint.ManifestName)); err == nil && !checkpoint.IsURL(req.Dir) {
		problem(w, http.StatusConflict, fmt.Sprintf("there is another savepoint in %s already", req.Dir))
		return
	}
	if err := s.job.Savepoint(r.Context(), req.Dir); err != nil {
		code := http.StatusInternalServerError
		switch {
		case errors.Is(err, fs.ErrExist):
			code = http.StatusConflict
		case errors.Is(err, r.Context().Err()):
			code = http.StatusServiceUnavailable
		}
		problem(w, code, err.Error())
		return
	}
	answer(w, http.StatusCreated, req)
}

// decode reads the JSON of a request's body, which has no other fields than to has.
func decode(r *http.Request, to any) error {
	dec := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(body)
}

func problem(w http.ResponseWriter, code int, what string) { answer(w, code, Problem{what}) }
