"""Security contexts of pods and containers."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    FLAG,
    INT32,
    TEXT,
    TEXTS,
    ListOf,
    Whole,
    honoured,
    needed,
    object_type,
    one_of,
    warned,
)
from numalet.io.findings.workloads import WorkloadId

PROFILE_TYPE: Final = one_of("Localhost", "RuntimeDefault", "Unconfined")
USER_ID: Final = Whole(0, INT32[1], WorkloadId)
USER: Final = (
    "The id of the user; that of the agent if none is given. HOME and USER are set from its entry"
    " in the system's user database."
)
GROUP: Final = (
    "The id of the group. Without it a user has the group and the supplementary groups of its"
    " entry in the system's user database, without an entry group 65534, and never group 0 (root"
    " itself excepted)."
)
UNPROTECTED: Final = "The program runs on the host without a container around it."

APP_ARMOR_PROFILE: Final = object_type(
    "AppArmorProfile",
    localhostProfile=TEXT,
    type=needed(PROFILE_TYPE),
)

CAPABILITIES: Final = object_type(
    "Capabilities",
    add=TEXTS,
    drop=TEXTS,
)

SE_LINUX_OPTIONS: Final = object_type(
    "SELinuxOptions",
    level=TEXT,
    role=TEXT,
    type=TEXT,
    user=TEXT,
)

SECCOMP_PROFILE: Final = object_type(
    "SeccompProfile",
    localhostProfile=TEXT,
    type=needed(PROFILE_TYPE),
)

WINDOWS_SECURITY_CONTEXT_OPTIONS: Final = object_type(
    "WindowsSecurityContextOptions",
    gmsaCredentialSpec=TEXT,
    gmsaCredentialSpecName=TEXT,
    hostProcess=FLAG,
    runAsUserName=TEXT,
)

SECURITY_CONTEXT: Final = object_type(
    "SecurityContext",
    "As whom the program runs.",
    allowPrivilegeEscalation=warned(FLAG, UNPROTECTED),
    appArmorProfile=warned(APP_ARMOR_PROFILE, UNPROTECTED),
    capabilities=warned(CAPABILITIES, UNPROTECTED),
    privileged=warned(FLAG, UNPROTECTED),
    procMount=warned(one_of("Default", "Unmasked"), UNPROTECTED),
    readOnlyRootFilesystem=warned(FLAG, UNPROTECTED),
    runAsGroup=honoured(USER_ID, GROUP),
    runAsNonRoot=honoured(FLAG, "A container that would run as root is refused."),
    runAsUser=honoured(USER_ID, USER),
    seLinuxOptions=warned(SE_LINUX_OPTIONS, UNPROTECTED),
    seccompProfile=warned(SECCOMP_PROFILE, UNPROTECTED),
    windowsOptions=warned(WINDOWS_SECURITY_CONTEXT_OPTIONS, UNPROTECTED),
)

SYSCTL: Final = object_type(
    "Sysctl",
    name=needed(TEXT),
    value=needed(TEXT),
)

POD_SECURITY_CONTEXT: Final = object_type(
    "PodSecurityContext",
    "As whom the programs run whose containers say nothing themselves.",
    appArmorProfile=warned(APP_ARMOR_PROFILE, UNPROTECTED),
    fsGroup=warned(USER_ID, UNPROTECTED),
    fsGroupChangePolicy=warned(one_of("Always", "OnRootMismatch"), UNPROTECTED),
    runAsGroup=honoured(USER_ID, GROUP),
    runAsNonRoot=honoured(FLAG, "A container that would run as root is refused."),
    runAsUser=honoured(USER_ID, USER),
    seLinuxChangePolicy=warned(one_of("MountOption", "Recursive"), UNPROTECTED),
    seLinuxOptions=warned(SE_LINUX_OPTIONS, UNPROTECTED),
    seccompProfile=warned(SECCOMP_PROFILE, UNPROTECTED),
    supplementalGroups=warned(ListOf(USER_ID), UNPROTECTED),
    supplementalGroupsPolicy=warned(one_of("Merge", "Strict"), UNPROTECTED),
    sysctls=warned(ListOf(SYSCTL), UNPROTECTED),
    windowsOptions=warned(WINDOWS_SECURITY_CONTEXT_OPTIONS, UNPROTECTED),
)
