//! Header and configuration say the same.

use super::Config;
use crate::error::{ensure, Code, Error, Result};
use crate::slm::header::Header;

/// Sizes of the header in the order of its array.
const SIZES: [&str; 8] =
    ["vocab", "layers", "heads", "kv_heads", "head_dim", "ffn", "max_context_declared", "hidden"];

/// Refuse a header that contradicts the configuration.
pub fn check(config: &Config, header: &Header) -> Result<()> {
    let sizes = [
        config.vocab,
        config.layers,
        config.heads,
        config.kv_heads,
        config.head_dim,
        config.ffn,
        config.max_positions,
        config.hidden,
    ];
    let theta = config.rope.as_ref().map_or(0.0, |rope| rope.theta);
    let floats = [
        ("rope_theta", header.rope_theta, theta.to_bits()),
        ("rms_eps", header.rms_eps, config.norm.eps.to_bits()),
    ];
    let sizes = SIZES.iter().zip(header.shape).zip(sizes);
    let rows = sizes.map(|((&name, theirs), own)| (name, theirs, own as u32)).chain(floats);
    for (name, theirs, own) in rows {
        ensure(theirs == own, || {
            let detail = format!("{} in the header, {} in the configuration", theirs, own);
            Error::new(Code::ConfigDisagrees, format!("header.{}", name), detail)
        })?;
    }
    Ok(())
}
