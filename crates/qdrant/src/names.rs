//! What collections and aliases are called.
//!
//! `PREFIX-OWNER_APP_eEPOCH` is a collection, `PREFIX-OWNER_APP_current` the alias of the published one; the owner
//! is the catalog that says what is published, as several may share a server under one prefix. A prefix has no
//! underscore and an epoch is only digits, so a name is of exactly one app however the app is called, and no
//! alias is ever a collection's name. All characters may stand in file names and addresses.

use std::fmt;
use std::str::FromStr;

use domain::AppName;
use thiserror::Error;

/// What the names of collections begin with: 1 to 32 lower-case letters, digits or `-`, and the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

/// A text that is no prefix.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} cannot begin the names of collections; use 1 to 32 lower-case letters, digits or '-'"
)]
pub struct InvalidPrefix(pub String);

impl Prefix {
    const LONGEST: usize = 32;

    /// The prefix of what belongs to `owner` alone.
    pub(crate) fn of(&self, owner: u32) -> Self {
        Self(format!("{self}-{owner:08x}"))
    }

    /// The collection of one epoch of `app`.
    pub(crate) fn collection(&self, app: &AppName, epoch: u32) -> String {
        format!("{self}_{app}_e{epoch}")
    }

    /// The alias that leads people to what is published of `app`.
    pub(crate) fn alias(&self, app: &AppName) -> String {
        format!("{self}_{app}_current")
    }

    /// The epoch of a collection that is one of `app`'s; `None` for everybody else's.
    pub(crate) fn epoch_of(&self, app: &AppName, collection: &str) -> Option<u32> {
        let epoch = collection.rsplit_once("_e")?.1.parse().ok()?;
        // Refuses other spellings of the number, such as `+1`.
        (self.collection(app, epoch) == collection).then_some(epoch)
    }
}

impl Default for Prefix {
    fn default() -> Self {
        Self("kiwari".to_owned())
    }
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPrefix(text.to_owned()))
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn app(name: &str) -> AppName {
        name.parse().unwrap()
    }

    #[test]
    fn names_say_prefix_app_and_epoch() {
        let prefix = Prefix::default();
        assert_eq!(prefix.collection(&app("my-app_2"), 3), "kiwari_my-app_2_e3");
        assert_eq!(prefix.alias(&app("my-app_2")), "kiwari_my-app_2_current");
        assert_eq!(prefix.epoch_of(&app("a"), "kiwari_a_e1_e2"), None);
        assert_eq!(prefix.epoch_of(&app("a"), "kiwari_a_e+1"), None);
        assert_eq!(prefix.epoch_of(&app("a"), "somebody_else"), None);
        for wrong in ["", "a_b", "A", "a.b", &"a".repeat(33)] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn owners_do_not_take_each_others_collections_for_their_own() {
        let prefix = Prefix::default();
        let (mine, theirs) = (prefix.of(0xab), prefix.of(0xab00));
        let name = mine.collection(&app("default"), 5);
        assert_eq!(name, "kiwari-000000ab_default_e5");
        assert_eq!(mine.epoch_of(&app("default"), &name), Some(5));
        assert_eq!(theirs.epoch_of(&app("default"), &name), None);
        assert_eq!(prefix.epoch_of(&app("default"), &name), None);
    }

    proptest! {
        #[test]
        fn a_name_is_of_one_app_and_epoch_and_never_an_alias(
            ours in "[a-z0-9][a-z0-9_e-]{0,8}", theirs in "[a-z0-9][a-z0-9_e-]{0,8}",
            epoch in 0_u32..30, prefixes in prop::sample::select(vec![("k", "k"), ("k", "k-e1"), ("k-e1", "k")]),
        ) {
            let [(ours, mine), (theirs, their_prefix)] = [(ours, prefixes.0), (theirs, prefixes.1)]
                .map(|(name, prefix)| (app(&name), prefix.parse::<Prefix>().unwrap()));
            let name = mine.collection(&ours, epoch);
            let same = ours == theirs && mine == their_prefix;
            prop_assert_eq!(their_prefix.epoch_of(&theirs, &name), same.then_some(epoch));
            prop_assert_ne!(their_prefix.alias(&theirs), name);
        }
    }
}
