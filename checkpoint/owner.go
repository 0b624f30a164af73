package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Owner says whose files of a shard are in a store. Their names have the job's name, which another job may have too: one with
// another prefix, or on another Kafka. Each would take the other's files for its own garbage, so one of them owns the place.
//
// It is a small file beside the shard's, put there, if there is none, by the first start, before anybody is fenced or anything is
// deleted. It is never changed. Reading commands do not look at it.
type Owner struct {
	Job   string `json:"job"`
	Shard int    `json:"shard"`
	// Topic is the checkpoint topic. Its ID is not part of it: a topic that was made anew is the same job's.
	Topic string `json:"topic"`
	// Cluster is Kafka's cluster ID, "" if the brokers do not say.
	Cluster string `json:"cluster,omitempty"`
	// Host and Time, in milliseconds since the Unix epoch, tell people who wrote it.
	Host string `json:"host,omitempty"`
	Time int64  `json:"time,omitempty"`
}

// OwnerName is the name of a shard's owner file: "<job>/owner-<shard>.json". It is not below "<job>/<shard>/", where
// everything belongs to an attempt and may be garbage.
func OwnerName(job string, shard int) string { return fmt.Sprintf("%s/owner-%d.json", job, shard) }

// Same reports whether both are one job. A cluster ID that is not known differs from none.
func (o *Owner) Same(p *Owner) bool {
	return o.Topic == p.Topic && (o.Cluster == p.Cluster || o.Cluster == "" || p.Cluster == "")
}

func (o *Owner) String() string {
	if o.Cluster == "" {
		return "topic " + o.Topic
	}
	return fmt.Sprintf("topic %s on cluster %s", o.Topic, o.Cluster)
}

// OwnedError refuses a start: the files of a job of this name in the storage are another one's.
type OwnedError struct {
	// Store is where, File the name of the owner file in it.
	Store, File string
	// Asks is who starts, Owner whose files they are, nil if the file cannot be read as one: Err says why.
	Asks, Owner *Owner
	Err         error
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("storage %s: %s: %s", e.Store, e.Whose(), e.Remedy())
}

// Whose says whose the files are.
func (e *OwnedError) Whose() string {
	if e.Owner == nil {
		return fmt.Sprintf("whose files of job %s are there cannot be told: file %s: %s", e.Asks.Job, e.File, oneLine(e.Err))
	}
	return fmt.Sprintf("it has the files of another job %s, that of %s, and this one is that of %s", e.Asks.Job, e.Owner, e.Asks)
}

// Remedy says what to do about it.
func (e *OwnedError) Remedy() string {
	if e.Owner == nil {
		return fmt.Sprintf("if they are those of this job (%s), delete that file", e.Asks)
	}
	return fmt.Sprintf("set another checkpoint.storage, or, if that job is gone for good, delete the file %s there; the next start then deletes its files", e.File)
}

func (e *OwnedError) Unwrap() error { return e.Err }

// maxOwner bounds what is read of an owner file.
const maxOwner = 64 << 10

// Owner reads who owns the files of a shard, nil if nobody does.
func (f *Files) Owner(ctx context.Context, job string, shard int) (*Owner, error) {
	var content bytes.Buffer
	err := f.retry(ctx, maxOwner, func(ctx context.Context) error {
		content.Reset()
		return f.store.Get(ctx, OwnerName(job, shard), &atMost{w: &content, left: maxOwner})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := &Owner{}
	if err := json.Unmarshal(content.Bytes(), o); err != nil || o.Topic == "" {
		return nil, fmt.Errorf("%w: it does not name a checkpoint topic", ErrCorrupt)
	}
	return o, nil
}

// CheckOwner reports whether the job owns the files of a shard, as against nobody. If another one does, that is an
// [*OwnedError]. It writes nothing.
func (f *Files) CheckOwner(ctx context.Context, asks Owner) (owns bool, err error) {
	owner, err := f.Owner(ctx, asks.Job, asks.Shard)
	refused := &OwnedError{Store: f.store.String(), File: OwnerName(asks.Job, asks.Shard), Asks: &asks, Owner: owner}
	switch {
	case errors.Is(err, ErrCorrupt):
		refused.Err = err
		return false, refused
	case err != nil:
		return false, err
	case owner != nil && !owner.Same(&asks):
		return false, refused
	}
	return owner != nil, nil
}

// Own makes sure that the files of a shard are the job's: it becomes the owner if there is none. Another owner is an
// [*OwnedError]. Of several that ask at the same time one becomes the owner. It may be repeated.
func (f *Files) Own(ctx context.Context, asks Owner) error {
	if owns, err := f.CheckOwner(ctx, asks); err != nil || owns {
		return err
	}
	content, err := json.MarshalIndent(&asks, "", "  ")
	if err != nil {
		return err
	}
	err = f.retry(ctx, maxOwner, func(ctx context.Context) error {
		return f.store.Put(ctx, OwnerName(asks.Job, asks.Shard), strings.NewReader(string(content)+"\n"))
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, err = f.CheckOwner(ctx, asks) // whoever was first
	return err
}

// atMost refuses what is longer than anything that belongs there.
type atMost struct {
	w    *bytes.Buffer
	left int
}

func (a *atMost) Write(p []byte) (int, error) {
	if a.left -= len(p); a.left < 0 {
		return 0, fmt.Errorf("%w: it is too long", ErrCorrupt)
	}
	return a.w.Write(p)
}
