//! What cues do and did, as JSON: the methods of a remote protocol.
//!
//! With the feature `bevy_remote` a game adds them to Bevy's by one line:
//!
//! ```text
//! app.add_plugins((RemotePlugin::default(), RemoteHttpPlugin::default(), CueRemotePlugin));
//! ```
//!
//! and asks, from wherever it listens (`RemoteHttpPlugin` is there with the feature `http` of `bevy_remote`):
//!
//! ```text
//! curl http://127.0.0.1:15702 -d '{"jsonrpc": "2.0", "id": 0, "method": "seamless.cues.waiting", "params": {"tag": "Cue.Hit", "limit": 20}}'
//! ```
//!
//! | method | answer |
//! |---|---|
//! | `seamless.cues.notifies` | the map: of each notify its tag, path, state, bytes, and what is said of it |
//! | `seamless.cues.loaded` | those that are loaded, and the bytes of all of them |
//! | `seamless.cues.waiting` | cues that wait, with their ages, those first that have waited longest |
//! | `seamless.cues.pools` | pools of instances, and what to preallocate |
//! | `seamless.cues.hitches` | loads that cues have forced the game to wait for, and who fired them |
//!
//! All take the same parameters: `tag`, of which, or of kinds of which, the entries are to be, and `limit`, how many at most (1000 if it is not
//! said). `count` of an answer is how many there are, whatever the limit.
//!
//! That feature is not on by default, nor in a build of this workspace: `bevy_remote` 0.19 cannot be had without `bevy_dev_tools`, nor that without Bevy's
//! renderer, user interface and text, all of which a game has anyway, and a server does not want. A game with a protocol of its own has [`METHODS`].

#[cfg(feature = "bevy_remote")]
mod plugin;
#[cfg(test)]
mod tests;

#[cfg(feature = "bevy_remote")]
pub use plugin::CueRemotePlugin;

use bevy_ecs::world::World;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    debug::{CueReport, CueState, Hitch, NotifyReport, PoolReport, WaitingReport},
    tag::GameplayTag,
};

/// Answers a request, or says what is wrong with its parameters.
pub type Method = fn(&World, Option<&Value>) -> Result<Value, String>;

/// All methods, by name.
pub const METHODS: [(&str, Method); 5] = [
    ("seamless.cues.notifies", |world, params| {
        notifies(&CueReport::of(world), params)
    }),
    ("seamless.cues.loaded", |world, params| {
        loaded(&CueReport::of(world), params)
    }),
    ("seamless.cues.waiting", |world, params| {
        waiting(&CueReport::of(world), params)
    }),
    ("seamless.cues.pools", |world, params| {
        pools(&CueReport::of(world), params)
    }),
    ("seamless.cues.hitches", |world, params| {
        hitches(&CueReport::of(world), params)
    }),
];

/// How many entries an answer has, if nobody says.
const LIMIT: usize = 1000;

/// What a request may say.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Params {
    tag: Option<String>,
    limit: Option<usize>,
}

/// Which entries are meant.
struct Filter {
    tag: Option<GameplayTag>,
    limit: usize,
}

impl Filter {
    fn new(params: Option<&Value>) -> Result<Self, String> {
        let params: Params = match params {
            None | Some(Value::Null) => Params::default(),
            Some(params) => Params::deserialize(params)
                .map_err(|error| format!("{error}; write {{\"tag\": \"Cue.Hit\", \"limit\": 20}}, or nothing"))?,
        };
        let find = |name: String| {
            // Whoever asks makes no tags.
            let known = GameplayTag::find(&name);
            known.ok_or_else(|| {
                format!("there is no tag `{name}`; `seamless.cues.notifies` lists those that have a notify")
            })
        };
        Ok(Self {
            tag: params.tag.map(find).transpose()?,
            limit: params.limit.unwrap_or(LIMIT),
        })
    }

    fn fits(&self, tag: GameplayTag) -> bool {
        self.tag.is_none_or(|wanted| tag.is_a(wanted))
    }

    /// The entries that are meant, under `name`, and how many there are of them.
    fn list<'r, T: 'r>(
        &self,
        name: &str,
        entries: impl Iterator<Item = &'r T>,
        tag: impl Fn(&T) -> GameplayTag,
        show: impl Fn(&T) -> Value,
    ) -> Value {
        let meant: Vec<&T> = entries.filter(|entry| self.fits(tag(entry))).collect();
        let shown: Vec<Value> = meant.iter().take(self.limit).map(|entry| show(entry)).collect();
        json!({ "count": meant.len(), name: shown })
    }
}

fn notifies(report: &CueReport, params: Option<&Value>) -> Result<Value, String> {
    let filter = Filter::new(params)?;
    Ok(filter.list("notifies", report.notifies.iter(), |notify| notify.tag, notify))
}

fn loaded(report: &CueReport, params: Option<&Value>) -> Result<Value, String> {
    let filter = Filter::new(params)?;
    let mut answer = filter.list("notifies", report.loaded(), |notify| notify.tag, notify);
    let meant = report.loaded().filter(|notify| filter.fits(notify.tag));
    answer["bytes"] = meant.map(|notify| notify.bytes).sum::<u64>().into();
    Ok(answer)
}

fn notify(notify: &NotifyReport) -> Value {
    let state = match notify.state {
        CueState::Unloaded => "unloaded",
        CueState::Loading => "loading",
        CueState::Loaded => "loaded",
        CueState::Failed => "failed",
    };
    json!({
        "tag": notify.tag.name(),
        "path": &*notify.path,
        "state": state,
        "bytes": notify.bytes,
        "overrides": notify.overrides,
        "is_always_loaded": notify.is_always_loaded,
    })
}

fn waiting(report: &CueReport, params: Option<&Value>) -> Result<Value, String> {
    let show = |cue: &WaitingReport| {
        json!({
            "tag": cue.tag.name(),
            "act": format!("{:?}", cue.act).to_lowercase(),
            "target": cue.target.to_bits(),
            "age_s": cue.age.as_secs_f64(),
        })
    };
    Ok(Filter::new(params)?.list("waiting", report.waiting.iter(), |cue| cue.tag, show))
}

fn pools(report: &CueReport, params: Option<&Value>) -> Result<Value, String> {
    let show = |pool: &PoolReport| {
        json!({
            "tag": pool.of.name(),
            "free": pool.stats.free,
            "playing": pool.stats.playing,
            "making": pool.stats.making,
            "high_water": pool.stats.high_water,
            "full": pool.stats.full,
            "cap": pool.cap,
            "preallocated": pool.preallocated,
            "recommended": pool.recommended,
        })
    };
    Ok(Filter::new(params)?.list("pools", report.pools.iter(), |pool| pool.of, show))
}

fn hitches(report: &CueReport, params: Option<&Value>) -> Result<Value, String> {
    let show = |hitch: &Hitch| {
        json!({
            "tag": hitch.tag.name(),
            "notify": &*hitch.notify,
            "took_s": hitch.took.as_secs_f64(),
            "bytes": hitch.bytes,
            "caller": hitch.caller.map(ToString::to_string),
        })
    };
    Ok(Filter::new(params)?.list("hitches", report.hitches.iter(), |hitch| hitch.tag, show))
}
