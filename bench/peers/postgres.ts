import { load } from './packages.ts'
import type { Addresses } from './peer.ts'

type Client = {
  connect(): Promise<void>
  query(text: string): Promise<{ readonly rows: readonly { readonly count: string }[] }>
  end(): Promise<void>
}

export const databaseUrl = (postgres: Addresses['postgres']): string =>
  `postgres://bench@127.0.0.1:${postgres?.port}/postgres`

/** Transactions so far: each statement outside of one counts as one. */
export const commitsOf = (connectionString: string): Promise<number> =>
  connected(connectionString, async (client) => {
    const { rows } = await client.query(
      'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
    )
    return Number(rows[0]?.count)
  })

/**
 * As autovacuum would: with the statistics of an empty table, pg-boss takes 100 jobs of thousands at a twentieth of
 * its rate.
 */
export const vacuum = (connectionString: string): Promise<void> =>
  connected(connectionString, async (client) => {
    await client.query('VACUUM ANALYZE')
  })

async function connected<T>(
  connectionString: string,
  act: (client: Client) => Promise<T>,
): Promise<T> {
  const { Client } = load<{ Client: new (options: object) => Client }>('pg')
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}
