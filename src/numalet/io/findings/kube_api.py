"""What is wrong with a kubeconfig, and what goes wrong while an API server is asked."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class KubeconfigNone(Finding):
    code = "kubeconfig/none"
    sentence = (
        "nothing says where the cluster is: there is no $KUBECONFIG, no ~/.kube/config, and this "
        "is no pod with a service account"
    )
    mend = "name a kubeconfig with --kubeconfig FILE"


class KubeconfigNoContext(Finding):
    code = "kubeconfig/no-context"
    sentence = "there is no context {value!r}; contexts: {known}"
    value: str
    known: str


class KubeconfigNoCurrentContext(Finding):
    code = "kubeconfig/no-current-context"
    sentence = "no current-context is set; contexts: {known}"
    mend = "name one with --context NAME, or set it with 'kubectl config use-context NAME'"
    known: str


class KubeconfigNoCluster(Finding):
    code = "kubeconfig/no-cluster"
    sentence = (
        "context {context!r} names the cluster {value!r}, which is not there; clusters: {known}"
    )
    context: str
    value: str
    known: str


class KubeconfigNoUser(Finding):
    code = "kubeconfig/no-user"
    sentence = "context {context!r} names the user {value!r}, which is not there; users: {known}"
    context: str
    value: str
    known: str


class KubeconfigServer(Finding):
    code = "kubeconfig/server"
    sentence = "{value!r} is no address of an API server ({problem}); one is https://HOST:PORT"
    value: str
    problem: str


class KubeconfigProxy(Finding):
    code = "kubeconfig/proxy"
    sentence = (
        "{value!r} is no proxy that can be used; one begins with http://, https:// or socks5://"
    )
    value: str


class KubeconfigBase64(Finding):
    code = "kubeconfig/base64"
    sentence = "{name} is no base64 ({problem})"
    name: str
    problem: str


class KubeconfigFile(Finding):
    code = "kubeconfig/file"
    sentence = "{name}: {path} can not be read ({problem})"
    name: str
    path: str
    problem: str


class KubeconfigCertificate(Finding):
    code = "kubeconfig/certificate"
    sentence = "{name} can not be used ({problem})"
    name: str
    problem: str


class KubeconfigHalfCertificate(Finding):
    code = "kubeconfig/half-certificate"
    sentence = "there is {present} without {missing}: a client certificate needs both"
    present: str
    missing: str


class KubeconfigInsecureAuthority(Finding):
    code = "kubeconfig/insecure-authority"
    sentence = (
        "insecure-skip-tls-verify is set beside a certificate authority: one says that any "
        "server will do, the other which one"
    )
    mend = "take one of them away; kubectl refuses both together, too"


class KubeconfigAuthProvider(Finding):
    code = "kubeconfig/auth-provider"
    sentence = (
        "auth-provider {value!r} is no longer supported; kubectl dropped it in 1.26 in favour of "
        "credential plugins"
    )
    mend = "let the cloud's command line write the user anew, with an 'exec' section"
    value: str


class KubeconfigPluginVersion(Finding):
    code = "kubeconfig/plugin-version"
    sentence = "apiVersion {value!r} of a credential plugin is none of: {known}"
    value: str
    known: str


class KubeconfigPluginFailed(Finding):
    code = "kubeconfig/plugin-failed"
    sentence = "the credential plugin {command!r} {problem}{hint}"
    command: str
    problem: str
    hint: str = ""


class KubeApiUnreachable(Finding):
    code = "kube-api/unreachable"
    sentence = "the API server {server} gives no answer: {problem}"
    server: str
    problem: str


class KubeApiRefused(Finding):
    code = "kube-api/refused"
    sentence = "the API server refused {asked} ({status} {reason}): {message}"
    asked: str
    status: int
    reason: str
    message: str
