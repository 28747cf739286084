"""Verdicts on statements: only what was measured counts, and a sentence says where we draw a line that the paper does not."""

from __future__ import annotations

from shoal.studies.papers import km, pta, rt


def losses(**by_algorithm):
    return [
        {"status": "ran", "algorithm": name.replace("_", "-"), "data": "chess", "segments": 10, "k": k, "loss": loss}
        for name, figures in by_algorithm.items()
        for k, loss in figures.items()
    ]


def verdict(found):
    return None if found is None else (found.agreeing, found.compared, found.word)


def test_the_least_of_three_needs_all_three():
    rows = losses(pta={5: 0.1, 15: 0.2, 25: 0.3}, gray_tsp={5: 0.2, 25: 0.1}, gsc={5: 0.3, 15: 0.4, 25: 0.2})
    assert verdict(pta.pta_loses_least(rows)) == (1, 2, "holds in part")
    assert verdict(pta.gsc_loses_most(rows)) == (1, 2, "holds in part")
    alone = losses(pta={5: 0.1}, gsc={5: 0.2})
    assert pta.pta_loses_least(alone) is None
    assert pta.gsc_loses_most(alone) is None
    assert pta.gsc_mostly_loses_most(alone) is None


def test_a_tie_is_not_the_least_loss():
    rows = losses(pta={5: 0.2}, gray_tsp={5: 0.2}, gsc={5: 0.3})
    assert verdict(pta.pta_loses_least(rows)) == (0, 1, "does not hold")


def test_the_slowest_of_three_needs_all_three():
    def row(name, k, seconds):
        place = {"data": "diabetes", "transactions": 100, "delta": 0.65}
        return {"status": "ran", "algorithm": name, "k": k, "seconds": seconds, **place}

    rows = [row("rmerge-r", 5, 1.0), row("rmerge-t", 5, 2.0), row("rmerge-rt", 5, 3.0), row("rmerge-rt", 25, 1.0)]
    assert verdict(rt.RT_SLOWEST(rows)) == (1, 1, "holds")
    assert verdict(rt.T_FASTEST(rows)) == (0, 1, "does not hold")
    assert rt.RT_SLOWEST(rows[3:]) is None


def times(name, **by_m):
    return [{"status": "ran", "algorithm": name, "m": int(m[1:]), "seconds": s} for m, s in by_m.items()]


def test_time_that_grows_faster_than_m_is_not_linear():
    steep = times("da", m2=1.0, m4=50.0) + times("aa", m2=1.0, m4=16.0)
    assert verdict(km.aa_gentler_in_m(steep)) == (1, 2, "holds in part")
    assert "AA grows as m^4.0 (linear: up to 1.3)" in km.aa_gentler_in_m(steep).ours
    gentle = times("da", m2=1.0, m4=50.0) + times("aa", m2=1.0, m4=2.0)
    assert verdict(km.aa_gentler_in_m(gentle)) == (2, 2, "holds")
    assert km.aa_gentler_in_m(times("da", m2=1.0, m4=50.0)) is None
