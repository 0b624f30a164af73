package runtime

import (
	"context"
	"os"
	"slices"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

// asOwner is the job as the owner of its files in the storage.
func (a *attempt) asOwner(ctx context.Context) (checkpoint.Owner, error) {
	askID := a.clusterID
	if askID == nil {
		askID = func() (string, error) { return kafka.NewCluster(a.client).ID(ctx) }
	}
	id, err := askID()
	host, _ := os.Hostname()
	return checkpoint.Owner{Job: a.cfg.Job, Shard: a.shard, Topic: a.log.Topic(), Cluster: id, Host: host, Time: a.now()}, err
}

// notOwned refuses a start whose storage has another job's files under the job's name. It changes nothing. A restart inside the
// process need not ask: whoever owns the storage stays its owner.
func (a *attempt) notOwned(ctx context.Context) (err error) {
	if a.job.ran.Load() {
		return nil
	}
	if a.owner, err = a.asOwner(ctx); err == nil {
		a.owns, err = a.files.CheckOwner(ctx, a.owner)
	}
	return err
}

// own makes the job the owner of its files, when nothing else stands against the start, and before anybody is fenced or
// anything deleted.
func (a *attempt) own(ctx context.Context) error {
	if a.owns {
		return nil
	}
	return a.files.Own(ctx, a.owner)
}

// elsewhere reports that the storage has no file of the job at all: it is not the one that the job had.
func (a *attempt) elsewhere(ctx context.Context) bool {
	listed, err := a.files.Store().List(ctx, a.cfg.Job+"/")
	return err == nil && !slices.ContainsFunc(listed, func(s checkpoint.Stored) bool { return checkpoint.AttemptOf(s.Name) != "" })
}
