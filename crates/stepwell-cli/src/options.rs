//! The options of a model as flags, generated from the table in [`stepwell::config`].

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use serde_json::{Map, Value};
use stepwell::Error;
use stepwell::config::{Group, Kind, ModelConfig, OptionInfo, Preset, option, options, typed};
use stepwell_data::nearest_name;

use crate::args::Arguments;
use crate::model::named;

/// The flags of one group of options, and the given values by name.
#[derive(Clone, Debug, Default)]
pub struct Flags<const GROUP: u8> {
    pub given: Map<String, Value>,
}

pub type ModelFlags = Flags<{ Group::Model as u8 }>;
pub type PoolFlags = Flags<{ Group::Pooling as u8 }>;
pub type ReadoutArgs = Flags<{ Group::Readout as u8 }>;

impl<const GROUP: u8> Flags<GROUP> {
    fn options() -> impl Iterator<Item = &'static OptionInfo> {
        options().iter().filter(|option| option.group as u8 == GROUP)
    }

    /// Overrides options of a configuration with the given values, and checks all.
    pub fn apply(&self, config: &mut ModelConfig) -> Result<()> {
        *config = config.overlay(&self.given).map_err(|error| blamed(error, &self.given, None))?;
        Ok(())
    }
}

impl<const GROUP: u8> Args for Flags<GROUP> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::options().flat_map(arguments))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUP: u8> FromArgMatches for Flags<GROUP> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in Self::options() {
            let value = match option.kind {
                Kind::Bool if matches.get_flag(option.name) => true.into(),
                Kind::Bool if matches.get_flag(&off(option)) => false.into(),
                Kind::Bool => continue,
                // Repeating a flag adds to its list.
                Kind::Choices(_) => match matches.get_many::<Value>(option.name) {
                    Some(lists) => lists.filter_map(Value::as_array).flatten().cloned().collect(),
                    None => continue,
                },
                _ => match matches.get_one::<Value>(option.name) {
                    Some(value) => value.clone(),
                    None => continue,
                },
            };
            self.given.insert(option.name.to_owned(), value);
        }
        Ok(())
    }
}

/// Errors about a flag name the flag; errors about a key of a file name the file.
pub fn blamed(error: Error, flags: &Map<String, Value>, file: Option<&ConfigFile>) -> anyhow::Error {
    let Error::BadOption { name, expected, found } = &error else { return error.into() };
    if flags.contains_key(*name) {
        return anyhow!("--{}: expected {expected}, found {found}", dashed(name));
    }
    match file.filter(|file| file.given.contains_key(*name)) {
        Some(file) => anyhow!("{}: {error}", file.path.display()),
        None => error.into(),
    }
}

/// The name of an option as it is written in a flag.
pub fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// The flag that turns an option off.
fn off(option: &OptionInfo) -> String {
    format!("no_{}", option.name)
}

/// The flag of an option; a boolean option has two opposite flags.
fn arguments(option: &'static OptionInfo) -> Vec<Arg> {
    let flag = |id: String| Arg::new(id.clone()).long(dashed(&id)).help_heading(option.group.name());
    if option.kind != Kind::Bool {
        return vec![valued(flag(option.name.to_owned()).help(help(option)), option)];
    }
    let usually_on = option.default() == Value::Bool(true);
    let help = help(option);
    let (on_help, off_help) =
        if usually_on { (String::new(), inverse(option, &help)) } else { (help, String::new()) };
    let one = |id: String, other: String, help: String, hidden: bool| {
        flag(id).overrides_with(other).help(help).hide(hidden).action(ArgAction::SetTrue)
    };
    let name = || option.name.to_owned();
    vec![one(name(), off(option), on_help, usually_on), one(off(option), name(), off_help, !usually_on)]
}

fn valued(argument: Arg, option: &'static OptionInfo) -> Arg {
    let parser = match option.kind {
        Kind::Choice(names) => {
            // Python's users write underscores.
            let value = |name: &&'static str| PossibleValue::new(*name).alias(name.replace('-', "_"));
            let names = PossibleValuesParser::new(names.iter().map(value));
            ValueParser::new(names.map(|name| Value::from(dashed(&name))))
        }
        _ => ValueParser::new(move |text: &str| read(option, text)),
    };
    let (name, action) = match option.kind {
        Kind::Integer | Kind::OptionalInteger | Kind::IntegerPerBlock => ("N", ArgAction::Set),
        Kind::Choices(_) => ("NAMES", ArgAction::Append),
        Kind::Choice(_) | Kind::ClassWeight => ("NAME", ArgAction::Set),
        _ => ("X", ArgAction::Set),
    };
    argument.value_name(name).value_parser(parser).action(action).hide_possible_values(true)
}

/// Parses a typed value: a number or a name, or several separated by commas.
fn read(option: &OptionInfo, text: &str) -> Result<Value, String> {
    let one = |text: &str| match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => Value::from(text),
    };
    let value = match option.kind {
        Kind::OptionalInteger if text == "none" => Value::Null,
        Kind::Choices(_) if text == "none" => Value::Array(Vec::new()),
        Kind::Choices(_) => text.split(',').map(|part| one(part.trim())).collect(),
        _ if text.contains(',') => text.split(',').map(|part| one(part.trim())).collect(),
        _ => one(text),
    };
    match option.set(&mut ModelConfig::default(), value.clone()) {
        Ok(()) => Ok(value),
        // clap names the flag and the value.
        Err(Error::BadOption { expected, .. }) => Err(format!("expected {expected}")),
        Err(error) => Err(error.to_string()),
    }
}

/// The help text of the flag that turns an option off.
fn inverse(option: &OptionInfo, help: &str) -> String {
    match option.name {
        // "Do not share" leaves open what happens instead.
        "lift" => "Compute every vertex separately, even vertices that must have equal states (by default, \
                   these are computed once)"
            .to_owned(),
        _ => format!("Do not {}", uncapitalised(help)),
    }
}

/// Whether a preset turns on an option that is off by default.
fn is_turned_on(option: &OptionInfo) -> bool {
    let presets = [Preset::Paper, Preset::Accurate, Preset::Vertices, Preset::Reference];
    option.default() == Value::Bool(false)
        && presets.iter().any(|&preset| option.value(&ModelConfig::preset(preset)) == Value::Bool(true))
}

/// The help text of an option: its meaning, its values, and the values in the presets.
fn help(option: &OptionInfo) -> String {
    let mut text = option.doc.trim_end_matches('.').to_owned();
    for other in options() {
        text = text.replace(&format!("`{}`", other.name), &format!("--{}", dashed(other.name)));
    }
    text = text.replace('`', "");
    match option.kind {
        // The meaning already explains all values.
        Kind::Choice(names) if names.iter().all(|name| text.contains(&format!("'{name}'"))) => {}
        Kind::Choice(names) => text += &format!(". Values: {}", names.join(", ")),
        Kind::Choices(names) => text += &format!(". Any of: {}", names.join(", ")),
        Kind::IntegerPerBlock | Kind::FloatPerBlock => text += ". One number, or one per block",
        Kind::Bool if is_turned_on(option) => text += &format!(". Opposite: --{}", dashed(&off(option))),
        _ => {}
    }
    let [paper, accurate] =
        [Preset::Paper, Preset::Accurate].map(|preset| typed(&option.value(&ModelConfig::preset(preset))));
    match (paper == accurate, option.kind) {
        // The flag itself shows the default.
        (true, Kind::Bool) => text,
        (true, _) => format!("{text} [{paper}]"),
        (false, _) => format!("{text} [paper: {paper}; accurate: {accurate}]"),
    }
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

/// A TOML file of options.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub preset: Option<Preset>,
    pub given: Map<String, Value>,
}

impl ConfigFile {
    /// The clap parser of a path. It reads the file once, so that a pipe works too.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        clap::builder::PathBufValueParser::new()
            .try_map(|path| Self::read(&path).map_err(|error| format!("{error:#}")))
    }

    fn read(path: &Path) -> Result<Self> {
        /// Far more than all options together.
        const LONGEST: u64 = 1 << 20;
        let mut text = String::new();
        std::fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
        anyhow::ensure!(
            text.len() as u64 <= LONGEST,
            "more than {LONGEST} bytes, too large for a file of options"
        );
        let (preset, given) = parse(&text)?;
        Ok(Self { path: path.to_owned(), preset, given })
    }
}

/// Parses the preset and the options of a TOML file, and checks that each value is valid.
pub fn parse(text: &str) -> Result<(Option<Preset>, Map<String, Value>)> {
    let entries: std::collections::BTreeMap<String, toml::Spanned<Value>> = toml::from_str(text)?;
    let (mut preset, mut given) = (None, Map::new());
    for (name, value) in entries {
        let line = 1 + text[..value.span().start].matches('\n').count();
        if name == "preset" {
            let value = value.into_inner();
            let found = value.as_str().ok_or_else(|| "expected a name".to_owned()).and_then(named);
            preset =
                Some(found.map_err(|expected| anyhow!("line {line}: preset: {expected}, found {value}"))?);
            continue;
        }
        option(&name)
            .and_then(|option| option.set(&mut ModelConfig::default(), value.get_ref().clone()))
            .map_err(|error| anyhow!("line {line}: {error}{}", did_you_mean(&error)))?;
        given.insert(name, value.into_inner());
    }
    Ok((preset, given))
}

/// Suggests the known option closest to an unknown one, or says that a flag of the program is not an
/// option of the model.
fn did_you_mean(error: &Error) -> String {
    let Error::UnknownOption { name } = error else { return String::new() };
    let is_switch = |option: &OptionInfo| option.kind == Kind::Bool;
    let opposite = name.strip_prefix("no_").and_then(|name| option(name).ok());
    if let Some(option) = opposite.filter(|option| is_switch(option)) {
        return format!("; write {} = false", option.name);
    }
    if is_flag(&dashed(name)) {
        let flag = dashed(name);
        return format!("; a configuration file holds model options only: pass --{flag} on the command line");
    }
    let nearest = nearest_name(name, options().iter().map(|option| option.name));
    nearest.map_or(String::new(), |known| format!("; did you mean '{known}'?"))
}

/// Whether a command has this flag.
fn is_flag(name: &str) -> bool {
    let has = |command: &Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    let all = Arguments::command();
    has(&all) || all.get_subcommands().any(has)
}

/// Extends an error about an unknown flag if the flag is an option of the model: commands that read
/// a model from a file do not accept those.
pub fn with_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && option(&flag.trim_start_matches("--").replace('-', "_")).is_ok()
    {
        let tip = format!(
            "'{flag}' is an option of the model: pass it to 'stepwell train', which saves it in the model's file"
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed<const GROUP: u8>(arguments: &[String]) -> Result<Map<String, Value>, clap::Error> {
        let command = Flags::<GROUP>::augment_args(Command::new("flags").no_binary_name(true));
        Ok(Flags::<GROUP>::from_arg_matches(&command.try_get_matches_from(arguments)?)?.given)
    }

    /// The flags of an option's group.
    fn flags(option: &OptionInfo, arguments: &[String]) -> Map<String, Value> {
        let given = match option.group {
            Group::Model => parsed::<{ Group::Model as u8 }>(arguments),
            Group::Pooling => parsed::<{ Group::Pooling as u8 }>(arguments),
            Group::Readout => parsed::<{ Group::Readout as u8 }>(arguments),
        };
        given.unwrap_or_else(|error| panic!("{}: {error}", option.name))
    }

    /// A configuration with nothing but these options.
    fn configured(given: Map<String, Value>) -> ModelConfig {
        let mut config = ModelConfig::default();
        for (name, value) in given {
            option(&name).unwrap().set(&mut config, value).unwrap();
        }
        config
    }

    /// The words to type to give an option this value.
    fn words(option: &OptionInfo, value: &Value) -> Vec<String> {
        let flag = dashed(option.name);
        match value {
            Value::Bool(true) => vec![format!("--{flag}")],
            Value::Bool(false) => vec![format!("--no-{flag}")],
            Value::Array(values) if values.is_empty() => Vec::new(),
            value => vec![format!("--{flag}"), typed(value)],
        }
    }

    /// A value that is not the default.
    fn another(option: &OptionInfo) -> Value {
        let other = |names: &[&str]| {
            names.iter().map(|&name| Value::from(name)).find(|name| *name != option.default()).unwrap()
        };
        match option.kind {
            Kind::Bool => (option.default() == json!(false)).into(),
            Kind::Integer | Kind::OptionalInteger => 7.into(),
            Kind::Float | Kind::Alpha => 0.25.into(),
            Kind::IntegerPerBlock => json!([3, 4]),
            Kind::FloatPerBlock => json!([0.25, 0.75]),
            Kind::Choice(names) => other(names),
            Kind::Choices(names) => json!([names[2], names[1]]),
            Kind::ClassWeight => json!([1.0, 2.5]),
        }
    }

    #[test]
    fn flags_and_files_set_the_same_field() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for option in options() {
            for value in [another(option), option.default()] {
                let flagged = configured(flags(option, &words(option, &value)));
                assert_eq!(option.value(&flagged), value, "--{}", option.name);
                if value.is_null() {
                    continue; // In a file, a missing value is omitted.
                }
                let fields = serde_json::from_value(json!({ option.name: value })).unwrap();
                assert_eq!(flagged, fields, "--{}", option.name);
                // TOML and JSON write numbers, names and lists alike.
                std::fs::write(&file, format!("{} = {value}", option.name)).unwrap();
                let read = ConfigFile::read(file.path()).unwrap();
                assert_eq!(configured(read.given), flagged, "{}", option.name);
            }
        }
    }

    #[test]
    fn what_help_tells_of_the_presets_gives_their_values() {
        let mut told = 0;
        for option in options() {
            let shown = arguments(option).into_iter().filter(|argument| !argument.is_hide_set());
            let help: Vec<String> = shown.map(|argument| argument.get_help().unwrap().to_string()).collect();
            assert_eq!(help.len(), 1, "{}", option.name);
            let brackets = help[0].strip_suffix(']').and_then(|help| help.rsplit_once('['));
            let default = typed(&option.default());
            let (paper, accurate) = match brackets {
                None => (default.as_str(), default.as_str()),
                Some((_, told)) => {
                    let both = told.strip_prefix("paper: ").and_then(|told| told.split_once("; accurate: "));
                    both.unwrap_or((told, told))
                }
            };
            for (preset, told) in [(Preset::Paper, paper), (Preset::Accurate, accurate)] {
                let arguments = match (option.kind, told) {
                    (Kind::Bool, told) => words(option, &(told == "yes").into()),
                    (Kind::Choices(_), "none") => Vec::new(),
                    _ => vec![format!("--{}", dashed(option.name)), told.to_owned()],
                };
                let given = configured(flags(option, &arguments));
                let is = option.value(&ModelConfig::preset(preset));
                assert_eq!(option.value(&given), is, "{preset:?}: {}", help[0]);
            }
            told += usize::from(brackets.is_some());
        }
        assert!(told > 30, "{told}");
    }

    #[test]
    fn help_lists_each_name_once_and_underscores_are_accepted() {
        for option in options() {
            let (Kind::Choice(names) | Kind::Choices(names)) = option.kind else { continue };
            let mut distinct: Vec<String> = names.iter().map(|name| dashed(name)).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), names.len(), "--{}: {names:?}", dashed(option.name));
        }
        let choose = option("choose").unwrap();
        assert!(help(choose).contains(". Any of: structure, normalize, wl-weight, gaussian-width ["));
        let given = flags(choose, &["--choose".into(), "wl_weight,gaussian-width".into()]);
        assert_eq!(choose.value(&configured(given)), json!(["wl-weight", "gaussian-width"]));
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_by_the_name_of_its_flag() {
        let refused = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
            parsed::<{ Group::Model as u8 }>(&arguments).unwrap_err().to_string()
        };
        for (arguments, said) in [
            (["--units", "0"], "'0' for '--units <N>': expected 1 to 32768"),
            (
                ["--units", "5,x"],
                "'5,x' for '--units <N>': expected an integer, or one per block, 1 to 32768",
            ),
            (["--leak", "nan"], "'nan' for '--leak <X>': expected a number, more than 0 and at most 1"),
            (["--fixed-sweeps", "0"], "'0' for '--fixed-sweeps <N>': expected 1 to"),
            (["--aggregate", "sum,total"], "expected any of sum, mean, max, std"),
            (["--solver", "newton"], "[possible values: gauss-seidel, jacobi]"),
        ] {
            let found = refused(&arguments);
            assert!(found.contains(said), "{found}");
        }
    }

    #[test]
    fn the_last_of_opposite_flags_counts_and_lists_add_up() {
        let given = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
            Value::Object(parsed::<{ Group::Model as u8 }>(&arguments).unwrap())
        };
        assert_eq!(given(&["--no-concat", "--concat"]), json!({ "concat": true }));
        assert_eq!(given(&["--lift", "--no-lift"]), json!({ "lift": false }));
        assert_eq!(
            given(&["--aggregate", "sum", "--aggregate", "max,std"]),
            json!({ "aggregate": ["sum", "max", "std"] })
        );
        assert_eq!(given(&["--fixed-sweeps", "none"]), json!({ "fixed_sweeps": null }));
    }

    #[test]
    fn errors_of_a_file_name_the_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, said) in [
            ("units = 5\n\nleak = 0", "line 3: leak: expected more than 0 and at most 1, found 0"),
            ("# here\nunitz = 5", "line 2: unknown option 'unitz'; did you mean 'units'?"),
            ("colour = 5", "line 1: unknown option 'colour'"),
            (
                "units = \"many\"",
                "line 1: units: expected an integer, or one per block, 1 to 32768, found \"many\"",
            ),
            ("units = 5\nlift", "line 2"),
        ] {
            std::fs::write(&file, text).unwrap();
            let found = format!("{:#}", ConfigFile::read(file.path()).unwrap_err());
            assert!(found.contains(said), "{found}");
        }
    }
}
