"""The kubelet's checks of the fields of MemoryQoS."""

from __future__ import annotations

from typing import Final

from numalet.core.config import feature_gates
from numalet.core.config.field_checks import Check, needs_gate, one_of, rule, value
from numalet.core.config.kubelet_config import THROTTLING_FACTOR

TIERED: Final = "TieredReservation"
CHECKS: Final[tuple[Check, ...]] = (
    needs_gate(
        "memoryThrottlingFactor",
        feature_gates.MEMORY_QOS,
        "memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled",
        is_set=lambda of: of("memoryThrottlingFactor") not in (None, THROTTLING_FACTOR),
        when=rule("throttling_has_no_default"),
    ),
    value(
        "memoryThrottlingFactor",
        lambda factor: not 0 < factor <= 1,
        "memoryThrottlingFactor {memoryThrottlingFactor} must be greater than 0 and less than or "
        "equal to 1.0",
    ),
    needs_gate(
        "memoryReservationPolicy",
        feature_gates.MEMORY_QOS,
        "memoryReservationPolicy {memoryReservationPolicy:q} requires MemoryQoS feature gate to "
        "be enabled",
        is_set=lambda of: bool(of("memoryReservationPolicy") == TIERED),
        when=rule("memory_reservation_policy_is_checked"),
    ),
    one_of(
        "memoryReservationPolicy",
        ("None", TIERED),
        "option {memoryReservationPolicy:q} specified for memoryReservationPolicy. Valid options "
        'are "None" or "TieredReservation"',
        when=rule("memory_reservation_policy_is_checked"),
    ),
)
