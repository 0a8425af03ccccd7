package workers

import (
	"errors"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// Validate is the first thing that is wrong with the worker groups, in EKS Anywhere's words and
// order, so that people find it in its documentation.
//
// EKS Anywhere also wants the count of an autoscaled group within its range. Here that count means
// nothing, so any will do: otherwise the minimum could not be raised without changing an unused
// number.
func Validate(spec v1alpha1.ClusterSpec) error {
	seen := map[string]bool{}
	for i, g := range spec.WorkerNodeGroupConfigurations {
		if i == 0 && g.Name == "" {
			g.Name = defaultGroupName
		}
		if g.Name == "" {
			return errors.New("must specify name for worker nodes")
		}
		if err := validateScaling(g); err != nil {
			return fmt.Errorf("validating autoscaling configuration: %w", err)
		}
		if seen[g.Name] {
			return errors.New("worker node group names must be unique")
		}
		seen[g.Name] = true
	}
	if spec.DatacenterRef.Kind == v1alpha1.TinkerbellDatacenter {
		return validateInPlace(spec)
	}
	return nil
}

func validateScaling(g v1alpha1.WorkerNodeGroup) error {
	bounds := g.AutoscalingConfiguration
	switch {
	case bounds == nil && g.Count != nil && *g.Count < 0:
		return errors.New("worker node count must be zero or greater if autoscaling is not enabled")
	case bounds == nil:
		return nil
	case bounds.MinCount < 0:
		return errors.New("min count must be non negative")
	case bounds.MinCount > bounds.MaxCount:
		return errors.New("min count must be no greater than max count")
	}
	return nil
}

// validateInPlace: machines that are upgraded in place are kept, and an
// autoscaler would take them away meanwhile.
func validateInPlace(spec v1alpha1.ClusterSpec) error {
	inPlace := func(s *v1alpha1.UpgradeRolloutStrategy) bool { return s != nil && s.Type == v1alpha1.InPlace }
	found := inPlace(spec.ControlPlaneConfiguration.UpgradeRolloutStrategy)
	for _, g := range spec.WorkerNodeGroupConfigurations {
		found = found || inPlace(g.UpgradeRolloutStrategy)
	}
	for _, g := range spec.WorkerNodeGroupConfigurations {
		if found && g.AutoscalingConfiguration != nil {
			// their spelling: people search for it
			return errors.New("austoscaler configuration not supported with InPlace upgrades")
		}
	}
	return nil
}
