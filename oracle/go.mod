// This file only marks the root of the module. The requirements of each
// Kubernetes release are in releases/, and `build` chooses one of them.
module numalet/oracle

go 1.26
