package probe

import (
	"context"
	"errors"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/kafka"
)

// checkOwner looks whether the job's files in the storage are another job's. It says nothing if all is well.
func (e *examination) checkOwner(ctx context.Context) []doctor.Finding {
	const name = "storage"
	id, err := kafka.NewCluster(e.home.client).ID(ctx)
	if err == nil {
		_, err = checkpoint.NewFiles(e.store, nil).CheckOwner(ctx, checkpoint.Owner{Job: e.config.Job, Topic: e.home.own, Cluster: id})
	}
	var owned *checkpoint.OwnedError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &owned):
		return []doctor.Finding{doctor.Unknown(name, "owner of "+e.store.String(), err)}
	}
	return []doctor.Finding{{Severity: doctor.Error, Check: name, Subject: owned.Store, Text: owned.Whose(), Remedy: owned.Remedy()}}
}
