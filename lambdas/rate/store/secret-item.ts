import type { Row } from '../../foundation/dynamo.ts'
import { secretKey } from '../core/keys.ts'
import type { TicketSecrets } from '../core/secrets.ts'

/** `s`: the newest secret; `at`: when it begins to sign, in ms; `f`: the secrets before it. */
type SecretRow = {
  readonly s: Uint8Array
  readonly at?: number
  readonly f?: readonly Uint8Array[]
}

export const encodeSecrets = ({ newest, signsFromMs, former }: TicketSecrets): Row => ({
  ...secretKey,
  s: newest,
  ...(signsFromMs > 0 && { at: signsFromMs }),
  ...(former.length > 0 && { f: former }),
})

export function decodeSecrets(row: Row | undefined): TicketSecrets | undefined {
  if (row === undefined) return undefined
  const { s: newest, at: signsFromMs = 0, f: former = [] } = row as SecretRow
  return { newest, signsFromMs, former }
}
