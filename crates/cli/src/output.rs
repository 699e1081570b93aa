//! Where reports, rows and plots go: the flags, what they must not name, and how the files are completed.

use crate::{Failure, messages};
use anyhow::Result;
use clap::{Arg, Args, Command, CommandFactory, ValueEnum};
use dwell_capture::Input;
use dwell_report::csv::Rows;
use dwell_report::openmetrics::Label;
use dwell_report::plot::{self, Image};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

// Files that are complete or absent.
mod file;
pub(crate) use file::{Output, abandon};
// Rows that end when they cannot be written.
mod rows;
pub(crate) use rows::RowFile;

/// Where a report goes, and in which form.
#[derive(Args)]
pub(crate) struct ReportArguments<F: ValueEnum + Send + Sync + 'static> {
    /// Format of the report. Default: the one that the name of --output ends in, such as report.json; else table.
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<F>,
    /// Write the report to a file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

impl<F: ValueEnum + Default + Send + Sync + 'static> ReportArguments<F> {
    /// The format: chosen, implied by the file's name, or the usual one.
    pub(crate) fn format(&self) -> F {
        self.format.clone().or_else(|| self.implied()).unwrap_or_default()
    }

    /// The format that the file's name ends in.
    fn implied(&self) -> Option<F> {
        F::from_str(self.output.as_ref()?.extension()?.to_str()?, true).ok()
    }

    /// The path of the report; `-` is standard output.
    pub(crate) fn path(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }

    /// Rejects a name that ends in a format which only other commands have, and outputs that would be written over each
    /// other or over an input ([`check_apart`]).
    pub(crate) fn check<'a>(
        &'a self,
        inputs: impl IntoIterator<Item = impl AsRef<Path>>,
        plot: Option<&'a (PathBuf, Image)>,
        others: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        let is_format =
            |ending: &OsStr| ending.to_str().is_some_and(|name| has_format(&crate::Arguments::command(), name));
        if self.format.is_none() && self.implied().is_none() && self.path().extension().is_some_and(is_format) {
            let formats = F::value_variants().iter().filter_map(F::to_possible_value);
            let formats: Vec<_> = formats.map(|format| format.get_name().to_owned()).collect();
            return Err(Failure::usage(format!(
                "{}: this command has no such format: name the file differently, or choose --format {}",
                self.path().display(),
                formats.join(", ")
            )));
        }
        let plot = plot.map(|(path, _)| path.as_path());
        check_apart(inputs, [self.path()].into_iter().chain(plot).chain(others.into_iter().map(PathBuf::as_path)))
    }

    /// Opens the file of the report.
    pub(crate) fn open(&self) -> Result<Output> {
        Output::file(self.path())
    }
}

/// What is added to OpenMetrics.
#[derive(Args)]
pub(crate) struct LabelArguments {
    /// Add a label to every line of --format openmetrics, such as interface=eth0, so that Prometheus can read several files.
    #[arg(long = "label", value_name = "NAME=VALUE", help_heading = "Output")]
    pub(crate) labels: Vec<Label>,
}

impl LabelArguments {
    /// Rejects labels where they would have no effect, and two of the same name.
    pub(crate) fn check(&self, is_openmetrics: bool) -> Result<(), Failure> {
        let mut names = Vec::new();
        for name in self.labels.iter().map(Label::name) {
            if !is_openmetrics {
                return Err(Failure::usage("--label applies only to --format openmetrics"));
            }
            if names.contains(&name) {
                return Err(Failure::usage(format!("--label {name}: is given twice")));
            }
            names.push(name);
        }
        Ok(())
    }
}

/// Whether a command, or one below it, has a format of this name.
fn has_format(command: &Command, name: &str) -> bool {
    let formats = command.get_arguments().filter(|argument| argument.get_id() == "format");
    formats.flat_map(Arg::get_possible_values).any(|format| format.matches(name, true))
        || command.get_subcommands().any(|command| has_format(command, name))
}

/// Writes a report in one of the formats.
pub(crate) type WriteReport<R> = fn(&R, &mut Output) -> io::Result<()>;

/// Completes the files of a command: its report, its rows, and then, so that a plot that cannot be written costs neither,
/// the plot.
pub(crate) fn finish(
    report: Output,
    rows: Option<Rows<Output>>,
    plot: Option<(Output, Image)>,
    draw: impl FnOnce(Image, &mut Output) -> io::Result<()>,
) -> Result<()> {
    report.finish()?;
    rows.map_or(Ok(()), |rows| rows.finish()?.finish())?;
    self::draw(plot, draw)
}

/// Draws a plot, if one is requested, and completes its file.
pub(crate) fn draw(
    plot: Option<(Output, Image)>,
    draw: impl FnOnce(Image, &mut Output) -> io::Result<()>,
) -> Result<()> {
    let Some((mut to, image)) = plot else { return Ok(()) };
    draw(image, &mut to)?;
    to.finish()
}

/// Warns of names that a plot cannot show.
pub(crate) fn warn_of_letters<'a>(image: Image, names: impl IntoIterator<Item = &'a str>) {
    let strange = names.into_iter().filter(|name| !plot::is_in_png(name)).count();
    if image == Image::Png && strange > 0 {
        messages::warn([format!(
            "--plot: names with letters that the font of PNG plots lacks, and that are drawn as ?: {strange}; a .svg file \
             shows them"
        )]);
    }
}

/// Parses the name of a plot file.
pub(crate) fn picture(path: &str) -> Result<(PathBuf, Image), String> {
    let path = PathBuf::from(path);
    let image = Image::of(&path).ok_or("expected a file name ending in .svg or .png")?;
    Ok((path, image))
}

/// Rejects a file that is given twice where different files are expected.
pub(crate) fn check_different<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    expected: &str,
) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for path in inputs {
        let Input { file, interface } = Input::parse(path);
        let same = (fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()), interface);
        if seen.contains(&same) {
            return Err(Failure::usage(format!("expected {expected}, found {} twice", path.display())));
        }
        seen.push(same);
    }
    Ok(())
}

/// Rejects standard input as more than one of the inputs.
pub(crate) fn check_stdin<'a>(inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    match inputs.into_iter().filter(|path| Input::parse(path).file == Path::new("-")).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage("only one of the inputs can be standard input")),
    }
}

/// Rejects two outputs with the same path, or an output that would overwrite an input. Devices and pipes may be shared,
/// except for standard output, which may be a file, too.
pub(crate) fn check_apart(
    inputs: impl IntoIterator<Item = impl AsRef<Path>>,
    outputs: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    // Standard input may be a file, too.
    let of_input = |path: &Path| match Input::parse(path).file {
        file if file == Path::new("-") => place(Path::new("/dev/stdin")),
        file => place(file),
    };
    let of_output = |path: &Path| match is_stdout(path) {
        true => place(Path::new("/dev/stdout")).or(Some("-".into())),
        false => place(path),
    };
    let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| of_input(path.as_ref())).collect();
    let mut seen = Vec::new();
    for path in outputs {
        let path = path.as_ref();
        let Some(place) = of_output(path) else { continue };
        let name = if path == Path::new("-") { "standard output".into() } else { path.display().to_string() };
        if inputs.contains(&place) {
            return Err(Failure::usage(format!("{name}: is an input, and would be changed: name another file")));
        }
        if seen.contains(&place) {
            return Err(Failure::usage(format!("{name}: would be written twice: name two files")));
        }
        seen.push(place);
    }
    Ok(())
}

/// The file at this path, or that would be made there; `None` for a device or pipe.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(metadata) = fs::metadata(path) {
        return metadata.is_file().then(|| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    }
    let path = &target(path);
    let folder = fs::canonicalize(Path::new(".").join(path.parent().unwrap_or(path)));
    Some(folder.unwrap_or_default().join(path.file_name().unwrap_or_default()))
}

/// Whether a file can appear there in place of another one, or of none.
pub(crate) fn is_replaceable(path: &Path) -> bool {
    !is_stdout(path) && fs::metadata(path).map_or(true, |old| old.is_file())
}

/// The file that will be written: that to which a symbolic link leads, also if there is none yet.
fn target(path: &Path) -> PathBuf {
    /// As many links as Linux follows, so that a circle ends.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.with_file_name(next);
    }
    path
}

/// The device of standard output must not be opened by name: it may be a file that is already partly written.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}
