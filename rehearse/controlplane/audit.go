package controlplane

import (
	"fmt"
	"path/filepath"

	"github.com/plimsoll-dev/plimsoll/rehearse/pki"
)

// auditLog is the name of the API server's audit log.
const auditLog = "audit"

// audit writes an audit policy where the API server reads it, and returns the flags
// that make it keep the log; none for no policy.
func audit(f folders, policy []byte) ([]string, error) {
	if len(policy) == 0 {
		return nil, nil
	}
	path := filepath.Join(f.config, "audit-policy.yaml")
	if err := pki.WriteSecret(path, policy); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return []string{"--audit-policy-file=" + path, "--audit-log-path=" + f.log(auditLog)}, nil
}

// AuditLog is the file of the API server's audit log, an event a line. It is there if
// Config.AuditPolicy asked for it.
func (c *ControlPlane) AuditLog() string { return c.folders.log(auditLog) }
