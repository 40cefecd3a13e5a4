//! Who forms a user's memories now: advisory, with a time limit.

use std::sync::Arc;
use std::time::Duration;

use episodica_core::Result;
use episodica_core::store::backend::LockGuard;
use episodica_core::store::{Holder, Turn};
use tokio::task::AbortHandle;
use tokio_postgres::types::Type;

use crate::failure::Failure;
use crate::pool::Pool;
use crate::statements::Statements;

/// After so many seconds a turn ends by itself, unless its holder says that it goes on: a machine
/// that died or was stopped keeps nobody waiting for longer.
const TURN_SECONDS: f64 = 20.0;
/// How often the holder says so.
const BEAT: Duration = Duration::from_secs(5);

/// A turn that this process has.
#[derive(Debug)]
struct Mine {
    pool: Arc<Pool>,
    statements: Arc<Statements>,
    uid: i64,
    holder: String,
    beat: AbortHandle,
}

impl LockGuard for Mine {}

impl Drop for Mine {
    fn drop(&mut self) {
        self.beat.abort();
        // If that fails it ends by itself.
        let _ = self.pool.soon(async |client| {
            let values = [(&self.uid as _, Type::INT8), (&self.holder as _, Type::TEXT)];
            client.execute_typed(&self.statements.give_turn, &values).await?;
            Ok(())
        });
    }
}

/// Nothing to hold: the user has no row yet.
#[derive(Debug)]
struct Nothing;

impl LockGuard for Nothing {}

/// Takes the turn of a user, if nobody has it.
///
/// # Errors
/// `StoreUnavailable`.
pub(crate) fn take(
    pool: &Arc<Pool>,
    statements: &Arc<Statements>,
    uid: Option<i64>,
    holder: &str,
) -> Result<Turn> {
    let Some(uid) = uid else { return Ok(Turn::Mine(Box::new(Nothing))) };
    let taken = pool.repeat(async |client| {
        let values = [
            (&uid as _, Type::INT8),
            (&holder as _, Type::TEXT),
            (&TURN_SECONDS as _, Type::FLOAT8),
        ];
        if client.execute_typed(&statements.take_turn, &values).await? > 0 {
            return Ok(None);
        }
        let row = client.query_typed_opt(&statements.turn, &[(&uid as _, Type::INT8)]).await?;
        let said = row.map(|row| row.try_get::<_, String>(0)).transpose()?;
        Ok::<_, Failure>(Some(said.and_then(|said| serde_json::from_str::<Holder>(&said).ok())))
    })?;
    Ok(match taken {
        None => Turn::Mine(Box::new(Mine {
            pool: Arc::clone(pool),
            statements: Arc::clone(statements),
            uid,
            holder: holder.to_owned(),
            beat: pool.every(
                BEAT,
                statements.keep_turn.clone(),
                vec![uid.to_string(), holder.to_owned(), TURN_SECONDS.to_string()],
            ),
        })),
        Some(other) => Turn::Other(other),
    })
}
