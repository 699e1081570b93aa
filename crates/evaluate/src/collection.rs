//! The folder `experiments`: where definitions and the records of their runs lie, and which record is which.

use crate::case::Run;
use crate::definition::{Definition, DefinitionError, Extent};
use crate::record::{Facts, Record, RecordError, git, today};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder `experiments`, with definitions as `definitions/<name>.toml` and records as `record/<date>-<name>` and
/// `record/<date>-<name>-quick`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    definitions: PathBuf,
    records: PathBuf,
}

impl Collection {
    /// The nearest one with definitions, in this folder or a parent.
    pub fn nearest(here: &Path) -> Option<Self> {
        let roots = here.ancestors().map(|folder| folder.join("experiments"));
        let mut all = roots.map(|root| Self { definitions: root.join("definitions"), records: root.join("record") });
        all.find(|collection| collection.definitions.is_dir())
    }

    /// The names of the experiments, sorted.
    pub fn names(&self) -> Result<Vec<String>, DefinitionError> {
        let paths = self.paths()?;
        Ok(paths.iter().filter_map(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned()).collect())
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> Result<Vec<Definition>, DefinitionError> {
        self.paths()?.iter().map(|path| Definition::read(path)).collect()
    }

    /// The definition of this name, if there is one.
    pub fn named(&self, name: &str) -> Result<Option<Definition>, DefinitionError> {
        let paths = self.paths()?;
        let found = paths.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        found.map(|path| Definition::read(path)).transpose()
    }

    /// The files with definitions, sorted by name.
    fn paths(&self) -> Result<Vec<PathBuf>, DefinitionError> {
        let unread = |error| DefinitionError::Read(self.definitions.clone(), error);
        let entries = self.definitions.read_dir().map_err(unread)?;
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>().map_err(unread)?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        paths.sort();
        Ok(paths)
    }

    /// Begins or continues today's record, which may stand beside those of other builds and versions of the definition;
    /// returns the runs already in it.
    pub fn begin(
        &self,
        definition: &Definition,
        extent: Extent,
        facts: &Facts,
    ) -> Result<(Record, Vec<Run>), RecordError> {
        for folder in self.folders(definition, extent) {
            match Record::begin(&folder, definition, extent, facts.clone()) {
                Err(RecordError::Other { .. }) => continue,
                begun => return begun,
            }
        }
        unreachable!("there is always another folder")
    }

    /// The folders for a record that begins today: `<date>-<name>`, then, for other builds and other versions of the
    /// definition, `<date>-<name>.2` and so on.
    fn folders(&self, definition: &Definition, extent: Extent) -> impl Iterator<Item = PathBuf> {
        let first = format!("{}-{}", today(), record_name(definition, extent));
        (1..).map(move |number: u32| match number {
            1 => self.records.join(&first),
            _ => self.records.join(format!("{first}.{number}")),
        })
    }

    /// The latest finished record of an experiment in this extent, among `these` if they are given.
    pub fn latest(&self, definition: &Definition, extent: Extent, these: Option<&HashSet<PathBuf>>) -> Option<PathBuf> {
        /// The length of a date and the following hyphen.
        const DATE: usize = "2026-01-01-".len();
        let name = record_name(definition, extent);
        let is_asked = |path: &Path| these.is_none_or(|these| these.contains(path));
        let age = |path: &PathBuf| {
            let folder = path.file_name()?.to_str()?;
            let (date, rest) = (folder.get(..DATE)?.to_owned(), folder.get(DATE..)?.strip_prefix(&*name)?);
            let number = if rest.is_empty() { 1 } else { rest.strip_prefix('.')?.parse::<u32>().ok()? };
            (is_asked(path) && path.join("result.json").is_file()).then_some((date, number))
        };
        let entries = fs::read_dir(&self.records).ok()?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter_map(|path| Some((age(&path)?, path))).max().map(|(_, path)| path)
    }

    /// The records that git keeps; `None` without git, outside a repository, or if it keeps none.
    pub fn kept(&self) -> Option<HashSet<PathBuf>> {
        let listed = git(&self.records, &["ls-files", "-z", "--", "*/result.json"])?;
        let folders = listed.split('\0').filter_map(|path| Path::new(path).parent());
        let paths: HashSet<PathBuf> =
            folders.map(|folder| self.records.join(folder)).filter(|folder| *folder != self.records).collect();
        (!paths.is_empty()).then_some(paths)
    }
}

/// The name of a record, without its date.
fn record_name(definition: &Definition, extent: Extent) -> String {
    match extent {
        Extent::Full => definition.name.clone(),
        Extent::Quick => format!("{}-quick", definition.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Results;
    use std::process::Command;

    /// The folder `experiments` of a new one, with a definition of each of these names.
    fn collection(names: &[&str]) -> (tempfile::TempDir, Collection) {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir_all(here.path().join("experiments/definitions")).unwrap();
        let collection = Collection::nearest(here.path()).unwrap();
        names.iter().for_each(|name| define(&collection, name, name, 2));
        (here, collection)
    }

    /// Writes a definition with this name and number of seeds in the file of another name.
    fn define(collection: &Collection, file: &str, name: &str, seeds: u64) {
        let text = format!(
            "name = '{name}'\ntitle = 't'\nsource = 's'\nseeds = {seeds}\n\
             [[delay.workloads]]\nname = 'w'\npreset = 'fridge-heavy-tailed'\n[[delay.methods]]\nmethod = 'exact'\n"
        );
        fs::write(collection.definitions.join(file).with_extension("toml"), text).unwrap();
    }

    /// Adds a record, of which only the results are known.
    fn add(collection: &Collection, folder: &str, results: Option<&Results>) -> PathBuf {
        let folder = collection.records.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let mut text = Vec::new();
        if let Some(results) = results {
            results.write_json(&mut text).unwrap();
            fs::write(folder.join("result.json"), text).unwrap();
        }
        folder
    }

    fn results(definition: &Definition, extent: Extent) -> Results {
        Results::new(definition, extent, 1, Vec::new())
    }

    #[test]
    fn the_nearest_folder_with_definitions_counts() {
        let (here, collection) = collection(&[]);
        let below = here.path().join("a/b");
        fs::create_dir_all(below.join("experiments")).unwrap();
        assert_eq!(Collection::nearest(&below), Some(collection.clone()), "that folder has no definitions");
        assert_eq!(Collection::nearest(&collection.definitions), Some(collection));
        fs::create_dir(below.join("experiments/definitions")).unwrap();
        assert_ne!(Collection::nearest(&below), Collection::nearest(here.path()));
        assert_eq!(Collection::nearest(Path::new("/")), None);
    }

    #[test]
    fn definitions_are_known_by_the_names_of_their_files() {
        let (_here, collection) = collection(&["two", "one"]);
        fs::write(collection.definitions.join("notes.txt"), "no definition").unwrap();
        let names = collection.definitions().unwrap().into_iter().map(|definition| definition.name);
        assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(collection.names().unwrap(), ["one", "two"]);
        assert_eq!(collection.named("two").unwrap().map(|definition| definition.name).as_deref(), Some("two"));
        for none in ["three", "notes", "two.toml", "../definitions/two"] {
            assert!(collection.named(none).unwrap().is_none(), "{none}");
        }
        define(&collection, "three", "one", 2);
        let path = collection.definitions.join("three.toml");
        let expected = format!("{}: name is 'one': expected that of the file", path.display());
        assert_eq!(collection.named("three").unwrap_err().to_string(), expected);
        assert_eq!(collection.definitions().unwrap_err().to_string(), expected);
        fs::rename(&path, path.with_file_name("definition.toml")).unwrap();
        assert_eq!(Definition::read(&path.with_file_name("definition.toml")).unwrap().name, "one", "that of a record");
    }

    /// The same definition, extent and program continue a record; others begin one beside it.
    #[test]
    fn a_record_of_today_is_continued_or_stands_beside() {
        let (_here, collection) = collection(&["small"]);
        let begun = |extent: Extent| {
            let definition = collection.named("small").unwrap().unwrap();
            let facts = Facts::here(extent.name(), 1, &definition.inputs).unwrap();
            let (record, _) = collection.begin(&definition, extent, &facts).unwrap();
            record.folder().strip_prefix(&collection.records).unwrap().to_str().unwrap()["2026-01-01".len()..]
                .to_owned()
        };
        assert_eq!([Extent::Full, Extent::Quick, Extent::Full].map(begun), ["-small", "-small-quick", "-small"]);
        define(&collection, "small", "small", 3);
        assert_eq!([Extent::Full, Extent::Quick, Extent::Full].map(begun), ["-small.2", "-small-quick.2", "-small.2"]);
        define(&collection, "small", "small", 4);
        assert_eq!(begun(Extent::Full), "-small.3");
        define(&collection, "small", "small", 2);
        assert_eq!(begun(Extent::Full), "-small", "the first is of this definition");
    }

    /// The latest date counts, then the largest number, among finished records of this experiment and extent.
    #[test]
    fn the_latest_record_is_found() {
        let (_here, collection) = collection(&["small"]);
        let small = collection.named("small").unwrap().unwrap();
        let latest = |extent| collection.latest(&small, extent, None);
        assert_eq!(latest(Extent::Full), None, "there is no folder of records");
        let full = results(&small, Extent::Full);
        add(&collection, "2999-01-01-small", None);
        for other in ["2999-01-01-smaller", "2999-01-01-very-small", "2999-01-01-small-quick", "2999-01-01-small.x"] {
            add(&collection, other, Some(&full));
        }
        add(&collection, "notes", Some(&full));
        assert_eq!(latest(Extent::Full), None);
        assert_eq!(latest(Extent::Quick), Some(collection.records.join("2999-01-01-small-quick")));
        for folder in ["2026-02-01-small.9", "2026-03-01-small", "2026-03-01-small.10", "2026-03-01-small.9"] {
            let folder = add(&collection, folder, Some(&full));
            let is_last = !folder.ends_with("2026-03-01-small.9");
            assert_eq!(latest(Extent::Full) == Some(folder), is_last);
        }
        let these = HashSet::from([collection.records.join("2026-02-01-small.9")]);
        assert_eq!(collection.latest(&small, Extent::Full, Some(&these)), these.into_iter().next());
    }

    /// What a folder holds is not taken for something else that its name says.
    #[test]
    fn a_record_is_of_one_experiment_and_size() {
        let (_here, collection) = collection(&["one", "two"]);
        let [one, two] = ["one", "two"].map(|name| collection.named(name).unwrap().unwrap());
        let folder = add(&collection, "2026-01-01-one", Some(&results(&two, Extent::Quick)));
        assert_eq!(Results::of(&two, Extent::Quick, &folder).unwrap(), results(&two, Extent::Quick));
        for (definition, extent) in [(&one, Extent::Quick), (&two, Extent::Full)] {
            let said = Results::of(definition, extent, &folder).unwrap_err().to_string();
            let (extent, name) = (extent.name(), &definition.name);
            let expected = format!("expected a {extent} record of {name}, found a quick one of two");
            assert_eq!(said, format!("{}: {expected}", folder.display()));
        }
    }

    #[test]
    fn git_keeps_what_was_added() {
        let (here, collection) = collection(&["small"]);
        let git = |arguments: &[&str]| {
            let done = Command::new("git").arg("-C").arg(here.path()).args(arguments).output();
            done.is_ok_and(|done| done.status.success())
        };
        if !git(&["init", "--quiet"]) {
            println!("skipped: git is not installed");
            return;
        }
        let results = results(&collection.named("small").unwrap().unwrap(), Extent::Full);
        let kept = add(&collection, "2026-01-01-small", Some(&results));
        assert_eq!(collection.kept(), None, "it keeps none");
        assert!(git(&["add", "."]));
        add(&collection, "2026-01-02-small", Some(&results));
        assert_eq!(collection.kept(), Some(HashSet::from([kept])));
    }
}
