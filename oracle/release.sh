# Sourced by the other scripts, and by .ci/control-plane: what a release needs from the
# go command.

# tags_of 1.36.3 prints since_1_35,since_1_36: the files of releases up to this one.
tags_of() {
	minor=${1#1.}
	minor=${minor%%.*}
	tags=
	for each in $(seq 35 "$minor"); do
		tags=$tags${tags:+,}since_1_$each
	done
	printf '%s' "$tags"
}

# use_release 1.36.3 lets the following go commands use this release. The options
# are those of the control plane's build, so both have the same build cache.
use_release() {
	export CGO_ENABLED=0
	export GOFLAGS="-buildvcs=false -trimpath -modfile=releases/$1.mod -tags=$(tags_of "$1")"
}

# require_kubernetes 1.37.2 FILE writes the requirement of this release into a go.mod.
# k8s.io/kubernetes requires the modules that are released with it as v0.0.0 and
# replaces them by folders of its own repository, which a module does not have.
# Their published versions are v0.37.2 for Kubernetes v1.37.2.
require_kubernetes() {
	go mod edit -require="k8s.io/kubernetes@v$1" "$2"
	published=$(go mod download -json "k8s.io/kubernetes@v$1" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
	for module in $(sed -n 's|^\t\(k8s.io/[a-z-]*\) => \./staging/.*|\1|p' "$published"); do
		go mod edit -replace="$module=$module@v0.${1#1.}" "$2"
	done
}
