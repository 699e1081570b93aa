//! Scales that map values to positions, and round values for ticks.

use crate::round::{self, STEPS};
use crate::text::{self, round_time, without_zeros};

/// A logarithmic scale of delays. Values outside the range are drawn at the edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogScale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

/// A tick of an axis: its position and label; minor ticks have no label.
pub(super) struct Tick {
    pub(super) place: f64,
    pub(super) label: Option<String>,
}

impl LogScale {
    /// From the round value below `least_ns` to the one above `greatest_ns`, mapped to `start` and `end` in points.
    pub(super) fn new(least_ns: i64, greatest_ns: i64, start: f64, end: f64) -> Self {
        let least = (least_ns as f64).max(1.0);
        let greatest = (greatest_ns as f64).max(least);
        let from = round::down(least);
        let to = if greatest > from { round::up(greatest) } else { from * 10.0 };
        Self { from: from.log10(), to: to.log10(), start, end }
    }

    pub(super) fn place(&self, delay_ns: i64) -> f64 {
        self.place_of((delay_ns as f64).max(1.0))
    }

    fn place_of(&self, delay_ns: f64) -> f64 {
        let share = (delay_ns.log10() - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Ticks at 1 to 9 in every decade. Labels are as many as can be read easily, no two of them closer than `apart`:
    /// where space is short, decades take precedence, then 2 and 5 times these.
    pub(super) fn ticks(&self, apart: f64) -> Vec<Tick> {
        let decades = self.to - self.from;
        let labelled: &[f64] = match decades {
            d if d > 2.5 => &[1.0],
            d if d > 0.8 => &STEPS,
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        };
        let minor: &[f64] = match decades {
            d if d > 7.0 => &[1.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        };
        let mut ticks = Vec::new();
        for decade in self.from.floor() as i32..=self.to.ceil() as i32 {
            for &step in minor {
                let value = step * 10f64.powi(decade);
                let label = labelled.contains(&step);
                let inside = (self.from - 1e-9..=self.to + 1e-9).contains(&value.log10());
                if inside && (label || step != 1.5) {
                    let tick = Tick { place: self.place_of(value), label: label.then(|| round_time(value)) };
                    ticks.push((STEPS.iter().position(|&round| round == step).map_or(2, |rank| rank.min(1)), tick));
                }
            }
        }
        let mut kept: Vec<f64> = Vec::new();
        for rank in 0..=2 {
            for (_, tick) in ticks.iter_mut().filter(|(of, tick)| *of == rank && tick.label.is_some()) {
                if kept.iter().all(|place| (place - tick.place).abs() >= apart) {
                    kept.push(tick.place);
                } else {
                    tick.label = None;
                }
            }
        }
        ticks.into_iter().map(|(_, tick)| tick).collect()
    }
}

/// A linear scale. Values outside the range are drawn at the edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinearScale {
    from: f64,
    to: f64,
    step: f64,
    start: f64,
    end: f64,
}

impl LinearScale {
    /// From a round value below `least` to one above `greatest`, mapped to `start` and `end` in points.
    pub(super) fn new(least: f64, greatest: f64, start: f64, end: f64) -> Self {
        const TICKS: f64 = 5.0;
        let span = if greatest > least { greatest - least } else { greatest.abs().max(1.0) };
        let step = round::up(span / TICKS);
        let from = (least / step + 1e-9).floor() * step;
        let to = ((greatest / step - 1e-9).ceil() * step).max(from + step);
        Self { from, to, step, start, end }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value - self.from) / (self.to - self.from);
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// A tick at every round value.
    pub(super) fn ticks(&self, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let last = ((self.to - self.from) / self.step).round() as u32;
        let values = (0..=last).map(|i| self.from + f64::from(i) * self.step);
        values.map(|value| Tick { place: self.place(value), label: Some(label(value)) }).collect()
    }

    /// A tick at every round delay in nanoseconds: all in one unit, with just enough digits to distinguish neighbouring
    /// ticks.
    pub(super) fn delay_ticks(&self) -> Vec<Tick> {
        let (unit, name) = match self.from.abs().max(self.to.abs()) {
            most if most < 1e3 => (1.0, "ns"),
            most if most < 1e6 => (1e3, "µs"),
            most if most < 1e9 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let digits = (-(self.step / unit).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        self.ticks(|ns| {
            let number = format!("{:.digits$}", ns / unit);
            let number = without_zeros(&number);
            if number.trim_start_matches('-') == "0" { "0".into() } else { format!("{number} {name}") }
        })
    }
}

/// A scale of delays: logarithmic, but linear where all of them are so nearly equal (a long path with little jitter, clocks
/// that are far apart) that a logarithmic one, which ends at 1, 2 and 5 times powers of ten, would show a vertical line.
#[derive(Clone, Copy, Debug)]
pub(super) enum DelayScale {
    Log(LogScale),
    Linear(LinearScale),
}

impl DelayScale {
    /// From the round value below `least_ns` to the one above `greatest_ns`, mapped to `start` and `end` in points.
    pub(super) fn new(least_ns: i64, greatest_ns: i64, start: f64, end: f64) -> Self {
        /// Least ratio of the ends of a logarithmic scale.
        const WIDE: f64 = 1.25;
        let (least, greatest) = (least_ns as f64, greatest_ns as f64);
        if least > 0.0 && greatest > least && greatest < WIDE * least {
            Self::Linear(LinearScale::new(least, greatest, start, end))
        } else {
            Self::Log(LogScale::new(least_ns, greatest_ns, start, end))
        }
    }

    pub(super) fn place(&self, delay_ns: i64) -> f64 {
        match self {
            Self::Log(scale) => scale.place(delay_ns),
            Self::Linear(scale) => scale.place(delay_ns as f64),
        }
    }

    /// Ticks at round delays; no two labels of a logarithmic scale are closer than `apart`.
    pub(super) fn ticks(&self, apart: f64) -> Vec<Tick> {
        match self {
            Self::Log(scale) => scale.ticks(apart),
            Self::Linear(scale) => scale.delay_ticks(),
        }
    }
}

/// A scale of times, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeScale {
    from: i64,
    to: i64,
    start: f64,
    end: f64,
}

impl TimeScale {
    pub(super) fn new(from: i64, to: i64, start: f64, end: f64) -> Self {
        Self { from, to: to.max(from.saturating_add(1)), start, end }
    }

    pub(super) fn place(&self, at_ns: i64) -> f64 {
        let share = at_ns.saturating_sub(self.from) as f64 / self.to.saturating_sub(self.from) as f64;
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// At most nine ticks at round times of day, or days; below three seconds at round times since the start.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        const SECOND: i64 = 1_000_000_000;
        if self.to.saturating_sub(self.from) < 3 * SECOND {
            return self.ticks_since_start();
        }
        const STEPS: [i64; 21] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 604_800,
            2_592_000, 31_536_000,
        ];
        let span = self.to.saturating_sub(self.from) / SECOND;
        let seconds = STEPS.into_iter().find(|step| span / step <= 8).unwrap_or(span / 8);
        let step = seconds.saturating_mul(SECOND).max(1);
        let mut at = self.from.div_euclid(step).saturating_mul(step);
        let mut ticks = Vec::new();
        while at <= self.to {
            if at >= self.from {
                let (day, time) = text::utc(at);
                let label = match seconds {
                    s if s >= 86_400 => day,
                    s if s >= 60 => time[..5].to_string(),
                    _ => time,
                };
                ticks.push(Tick { place: self.place(at), label: Some(label) });
            }
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        ticks
    }

    fn ticks_since_start(&self) -> Vec<Tick> {
        const TICKS: f64 = 8.0;
        let span = self.to - self.from;
        let step = (round::up(span as f64 / TICKS) as i64).max(1);
        let tick = |since: i64| Tick {
            place: self.place(self.from + since),
            label: Some(if since == 0 { "0".to_owned() } else { format!("+{}", round_time(since as f64)) }),
        };
        (0..=span / step).map(|number| tick(number * step)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn delays_get_round_ends_and_ticks() {
        let scale = LogScale::new(1_300_000, 870_000_000, 0.0, 100.0);
        assert_eq!(scale.place(1_000_000), 0.0);
        assert!((scale.place(1_000_000_000) - 100.0).abs() < 1e-9);
        assert_eq!(labels(scale.ticks(0.0)), ["1 ms", "10 ms", "100 ms", "1 s"]);
        assert_eq!(labels(LogScale::new(11_000, 19_000, 0.0, 1.0).ticks(0.0)), ["10 µs", "15 µs", "20 µs"]);
        assert_eq!(labels(LogScale::new(0, 0, 0.0, 1.0).ticks(0.0)).first().unwrap(), "1 ns");
        assert_eq!(labels(LogScale::new(-7, i64::MAX, 0.0, 1.0).ticks(0.0)).len(), 20);
    }

    #[test]
    fn decades_are_labelled_before_others() {
        let labels = |least, greatest| labels(LogScale::new(least, greatest, 90.0, 0.0).ticks(15.0));
        assert_eq!(labels(5_000_000, 450_000_000), ["10 ms", "100 ms", "500 ms"]);
        assert_eq!(labels(5_000_000, 150_000_000), ["5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms"]);
        assert_eq!(labels(20_000_000, 2_000_000_000), ["20 ms", "100 ms", "1 s"]);
    }

    #[test]
    fn delays_on_a_linear_axis_differ_by_their_labels() {
        let labels = |least, greatest| labels(LinearScale::new(least, greatest, 0.0, 1.0).delay_ticks());
        assert_eq!(labels(0.0, 1.9e6), ["0", "0.5 ms", "1 ms", "1.5 ms", "2 ms"]);
        assert_eq!(labels(0.0, 369e6), ["0", "100 ms", "200 ms", "300 ms", "400 ms"]);
        assert_eq!(labels(50.01e6, 50.09e6)[..3], ["50 ms", "50.02 ms", "50.04 ms"]);
        assert_eq!(labels(-40.0, 40.0), ["-40 ns", "-20 ns", "0", "20 ns", "40 ns"]);
        assert_eq!(labels(0.0, 7e12)[1], "2000 s");
    }

    /// Delays of 100.1 to 103.9 ms fill the axis; on a logarithmic one they would take a twentieth of it.
    #[test]
    fn nearly_equal_delays_are_told_apart() {
        let scale = |least, greatest| DelayScale::new(least, greatest, 0.0, 100.0);
        let narrow = scale(100_100_000, 103_900_000);
        assert_eq!(labels(narrow.ticks(0.0)), ["100 ms", "101 ms", "102 ms", "103 ms", "104 ms"]);
        assert!(narrow.place(103_900_000) - narrow.place(100_100_000) > 90.0);
        assert_eq!(labels(scale(100_100_000, 139_000_000).ticks(0.0)), ["100 ms", "150 ms", "200 ms"]);
        for (least, greatest) in [(0, 0), (7, 7), (-8, -7), (0, 1)] {
            assert!(matches!(scale(least, greatest), DelayScale::Log(_)), "{least} to {greatest}");
        }
    }

    #[test]
    fn outside_is_drawn_at_the_edge() {
        let scale = LogScale::new(1_000, 10_000, 5.0, 15.0);
        assert_eq!([scale.place(-1), scale.place(1), scale.place(i64::MAX)], [5.0, 5.0, 15.0]);
    }

    #[test]
    fn moments_get_round_ticks() {
        let at = |s: i64| (1_700_000_000 + s) * 1_000_000_000;
        let scale = TimeScale::new(at(0), at(600), 0.0, 100.0);
        assert_eq!(labels(scale.ticks()), ["22:14", "22:16", "22:18", "22:20", "22:22"]);
        assert_eq!(labels(TimeScale::new(at(0), at(3), 0.0, 1.0).ticks()).len(), 4);
        let short = TimeScale::new(at(0) + 7, at(0) + 7 + 1_600_000, 0.0, 8.0);
        assert_eq!(labels(short.ticks())[..3], ["0", "+200 µs", "+400 µs"]);
        assert_eq!((short.ticks().len(), short.ticks()[8].place), (9, 8.0));
        assert!(labels(TimeScale::new(i64::MIN, i64::MAX, 0.0, 1.0).ticks()).len() < 400);
    }
}
