//! The forming turn: which process forms a user's memories. Advisory and limited in time.

use std::sync::Arc;
use std::time::Duration;

use episodica_core::Result;
use episodica_core::store::backend::LockGuard;
use episodica_core::store::{LockHolder, TurnHolder};
use tokio::task::AbortHandle;
use tokio_postgres::types::Type;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;
use crate::statements::SqlTexts;

/// A turn ends after this many seconds unless its holder renews it, so that a process that died
/// blocks others no longer than this.
const TURN_SECONDS: f64 = 20.0;
/// Interval at which the holder renews its turn.
const BEAT: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct HeldTurn {
    pool: Arc<ConnectionPool>,
    statements: Arc<SqlTexts>,
    uid: i64,
    holder: String,
    beat: AbortHandle,
}

impl LockGuard for HeldTurn {}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        self.beat.abort();
        // If this fails, the turn expires.
        let _ = self.pool.send_briefly(async |client| {
            let values = [(&self.uid as _, Type::INT8), (&self.holder as _, Type::TEXT)];
            client.execute_typed(&self.statements.give_turn, &values).await?;
            Ok(())
        });
    }
}

/// The turn of a user without a row, which needs no lock.
#[derive(Debug)]
struct EmptyTurn;

impl LockGuard for EmptyTurn {}

/// Takes the turn of a user if it is free.
///
/// # Errors
/// `StoreUnavailable`.
pub(crate) fn take_turn(
    pool: &Arc<ConnectionPool>,
    statements: &Arc<SqlTexts>,
    uid: Option<i64>,
    holder: &str,
) -> Result<TurnHolder> {
    let Some(uid) = uid else { return Ok(TurnHolder::Mine(Box::new(EmptyTurn))) };
    let taken = pool.repeat_request(async |client| {
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
        Ok::<_, DatabaseFailure>(Some(
            said.and_then(|said| serde_json::from_str::<LockHolder>(&said).ok()),
        ))
    })?;
    Ok(match taken {
        None => TurnHolder::Mine(Box::new(HeldTurn {
            pool: Arc::clone(pool),
            statements: Arc::clone(statements),
            uid,
            holder: holder.to_owned(),
            beat: pool.send_regularly(
                BEAT,
                statements.keep_turn.clone(),
                vec![uid.to_string(), holder.to_owned(), TURN_SECONDS.to_string()],
            ),
        })),
        Some(other) => TurnHolder::Other(other),
    })
}
