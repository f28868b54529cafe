package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"numalet/oracle/internal/kubelet"
)

const cgroupRoot = "/sys/fs/cgroup"

// privateMounts starts a child in a mount namespace of its own. Only root may
// do this; user namespaces are not used, because many hosts forbid them.
func privateMounts() (attributes *syscall.SysProcAttr, ok bool) {
	attributes = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		return attributes, false
	}
	attributes.Cloneflags = syscall.CLONE_NEWNS
	return attributes, true
}

// PrivateFolder gives this process, which is in a mount namespace of its own,
// the kubelet's folder on a file system in memory. Nothing of it is visible to
// the host, and it is gone when the process ends.
func PrivateFolder() (string, error) {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("cannot make the mounts private: %w", err)
	}
	parent := filepath.Dir(kubelet.StandardFolder)
	if err := unix.Mount("tmpfs", parent, "tmpfs", 0, ""); err != nil {
		return "", fmt.Errorf("cannot mount %s: %w", parent, err)
	}
	return kubelet.StandardFolder, lookLikeCgroup2()
}

// lookLikeCgroup2 hides version 1 of the control groups, because validation of
// the configuration depends on the version. The recorded kubelets ran on 2.
func lookLikeCgroup2() error {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &stat); err == nil && stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	if err := unix.Mount("none", cgroupRoot, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("cannot mount cgroup v2: %w", err)
	}
	return nil
}

// TemporaryFolder is for users who are not root. Scenarios with devices cannot
// be recorded in it.
func TemporaryFolder() (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &stat); err != nil || stat.Type != unix.CGROUP2_SUPER_MAGIC {
		return "", errors.New("this host has cgroup v1, which only root can hide from the kubelet")
	}
	return os.MkdirTemp("", "numalet-oracle-")
}
