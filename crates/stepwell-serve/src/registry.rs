//! The served models.

use std::path::PathBuf;
use std::sync::Arc;

use stepwell::model::{Model, Saved, TrainedModel};
use stepwell_data::models::{self, Card};
use stepwell_data::{Expected, Result, quote};

use crate::Refusal;

/// A model with its name.
pub(crate) struct Entry {
    pub name: String,
    pub saved: Saved,
    pub card: Card,
    pub expected: Expected,
}

impl Entry {
    pub fn model(&self) -> &Model {
        self.saved.model()
    }

    /// The model with its readout, if it has one.
    pub fn trained(&self) -> Result<&TrainedModel, Refusal> {
        match &self.saved {
            Saved::Trained(trained) => Ok(trained),
            Saved::Untrained(_) => Err(Refusal::bad(format!(
                "model '{}' has no readout and cannot predict; use /embed",
                self.name
            ))),
        }
    }
}

/// All served models, in the order of the options.
pub(crate) struct Registry(pub Vec<Arc<Entry>>);

impl Registry {
    pub fn read(models: &[(String, PathBuf)]) -> Result<Self> {
        let entry = |(name, path): &(String, PathBuf)| {
            let (saved, card) = models::read_with_card(path)?;
            if let Err(error) = saved.model().expect_graphs("be served") {
                return Err(stepwell_data::Error::Unsupported(format!("{}: {error}", path.display())));
            }
            let expected = Expected::from(saved.model());
            Ok(Arc::new(Entry { name: name.clone(), saved, card, expected }))
        };
        models.iter().map(entry).collect::<Result<_>>().map(Self)
    }

    /// The model with that name; without a name, the only one.
    pub fn find(&self, name: Option<&str>) -> Result<&Arc<Entry>, Refusal> {
        let names = || self.0.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
        match (name, &self.0[..]) {
            (None, [only]) => Ok(only),
            (None, _) => {
                Err(Refusal::bad(format!("several models are served; add ?model= with one of {}", names())))
            }
            (Some(name), all) => all.iter().find(|entry| entry.name == name).ok_or_else(|| {
                let reason = format!("model: expected one of {}, found {}", names(), quote(name.as_bytes()));
                Refusal::new(hyper::StatusCode::NOT_FOUND, reason)
            }),
        }
    }
}
