package schedsim

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// stage is what the plugins take for the cluster: just the nodes that matter
// to the question being asked.
type stage struct {
	nodes    []fwk.NodeInfo
	affinity []fwk.NodeInfo
	anti     []fwk.NodeInfo
	antiWide []fwk.NodeInfo
	claims   map[string]int // "namespace/name" → pods that use it, in the whole world
	csiNodes map[string]*storagev1.CSINode
	// promised are those of nodes that are not there yet, by their groups'
	// templates.
	promised map[string]*storagev1.CSINode
}

// promise sets the CSINode of a node that is not there yet; nil for none.
func (s *stage) promise(node string, csi *storagev1.CSINode) {
	if csi == nil {
		delete(s.promised, node)
		return
	}
	if s.promised == nil {
		s.promised = map[string]*storagev1.CSINode{}
	}
	s.promised[node] = csi
}

// show sets the nodes of the next question.
func (s *stage) show(nodes []fwk.NodeInfo) {
	s.nodes = nodes
	s.affinity, s.anti, s.antiWide = s.affinity[:0], s.anti[:0], s.antiWide[:0]
	for _, n := range nodes {
		if len(n.GetPodsWithAffinity()) > 0 {
			s.affinity = append(s.affinity, n)
		}
		if len(n.GetPodsWithRequiredAntiAffinity()) > 0 {
			s.anti = append(s.anti, n)
		}
		if len(n.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 {
			s.antiWide = append(s.antiWide, n)
		}
	}
}

func (s *stage) NodeInfos() fwk.NodeInfoLister                                 { return s }
func (s *stage) StorageInfos() fwk.StorageInfoLister                           { return s }
func (s *stage) PodGroupStates() fwk.PodGroupStateLister                       { return nil }
func (s *stage) PodGroups() fwk.PodGroupLister                                 { return nil }
func (s *stage) CompositePodGroupStates() fwk.CompositePodGroupStateLister     { return nil }
func (s *stage) CompositePodGroups() fwk.CompositePodGroupLister               { return nil }
func (s *stage) List() ([]fwk.NodeInfo, error)                                 { return s.nodes, nil }
func (s *stage) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)             { return s.affinity, nil }
func (s *stage) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return s.anti, nil }
func (s *stage) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.antiWide, nil
}

func (s *stage) Get(name string) (fwk.NodeInfo, error) {
	for _, n := range s.nodes {
		if n.Node().Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("node %q is not part of this question", name)
}

func (s *stage) IsPVCUsedByPods(key string) bool { return s.claims[key] > 0 }

func (s *stage) CSINodes() fwk.CSINodeLister { return csiNodes{s} }

type csiNodes struct{ *stage }

func (c csiNodes) List() ([]*storagev1.CSINode, error) {
	list := make([]*storagev1.CSINode, 0, len(c.csiNodes))
	for _, n := range c.csiNodes {
		list = append(list, n)
	}
	return list, nil
}

func (c csiNodes) Get(name string) (*storagev1.CSINode, error) {
	if n, ok := c.csiNodes[name]; ok {
		return n, nil
	}
	if n, ok := c.promised[name]; ok {
		return n, nil
	}
	return nil, fmt.Errorf("csi node %q is not known", name)
}
