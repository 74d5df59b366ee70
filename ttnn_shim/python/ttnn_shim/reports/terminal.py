"""The profile as a table on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from ttnn_shim.error_bands import UNMEASURED_BAND
from ttnn_shim.records import ROOFLINES, Profile
from ttnn_shim.reports.summary import BOUND_TEXT, Group, by_line, by_op, longest_by_line, verdict

_ROWS = 15


def table(profile: Profile) -> str:
    """Device time by op and the slowest lines; the rows of each table add up to the total."""
    total_ns = profile.device_ns or 1.0
    longest = longest_by_line(profile)

    def band(group: Group) -> float:
        return group.error(profile.arch)

    lines = [
        f"device time {total_ns / 1e6:.3f} ms on {profile.card}, {len(profile.programs)} device programs"
        f" (error band {profile.device_ns_error:.0%}, meant to contain 8 of 10 measured times)",
        f"wall time with a host: {profile.traced_wall_ns / 1e6:.3f} ms replayed from a trace (+- {profile.device_ns_error:.0%}),"
        f" {profile.eager_wall_ns / 1e6:.3f} ms launched program by program (+- {profile.eager_wall_ns_error:.0%})",
        *_exchange(profile),
        "",
        *_groups("op", by_op(profile), total_ns, lambda group: BOUND_TEXT.get(group.bound, group.bound), band),
        "",
        *_groups("line", by_line(profile), total_ns, lambda group: verdict(profile, group, longest[group.key]), band),
    ]
    unmodelled = [program.op_code for program in profile.programs if not program.modelled]
    if unmodelled:
        lines += ["", f"{len(unmodelled)} programs have no timing model ({', '.join(sorted(set(unmodelled)))}); a roofline stands in for them"]
    if profile.far_above_roofline:
        lines += ["", f"priced above {ROOFLINES} times their roofline: {', '.join(profile.far_above_roofline)}: few cores do the work, or the price is wrong"]
    if profile.unmeasured:
        lines += ["", f"no card measurement of {', '.join(profile.unmeasured)}: times estimated from the kernels (+- {UNMEASURED_BAND:.0%})"]
    return "\n".join(lines)


def _exchange(profile: Profile) -> list[str]:
    sent = sum(program.link_bytes for program in profile.programs)
    share = profile.ccl_ns / profile.device_ns if sent else 0.0
    return [f"collectives: {profile.ccl_ns / 1e6:.3f} ms of it ({share:.0%}), {sent / 1e6:.2f} MB over each link"] if sent else []


def _groups(title: str, groups: list[Group], total_ns: float, limit: Callable[[Group], str], band: Callable[[Group], float]) -> list[str]:
    """Rows of groups; band: relative error to expect of a group's kernel time."""
    lines = [f"{title:58} {'count':>6} {'kernel us':>11} {'+-':>5} {'gaps us':>9} {'share':>7}  limited by"]
    for group in groups[:_ROWS]:
        lines.append(
            f"{group.key[:58]:58} {group.count:6} {group.kernel_ns / 1e3:11.1f} {band(group):5.0%} {group.gap_ns / 1e3:9.1f}"
            f" {group.total_ns / total_ns:7.1%}  {limit(group)}"
        )
    rest = groups[_ROWS:]
    if rest:
        kernel_ns, gap_ns = sum(group.kernel_ns for group in rest), sum(group.gap_ns for group in rest)
        lines.append(
            f"{f'({len(rest)} more)':58} {sum(group.count for group in rest):6} {kernel_ns / 1e3:11.1f} {'':5} {gap_ns / 1e3:9.1f}"
            f" {(kernel_ns + gap_ns) / total_ns:7.1%}"
        )
    return lines
