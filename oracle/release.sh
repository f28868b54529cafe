# Sourced by the other scripts: what a release needs from the go command.

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
