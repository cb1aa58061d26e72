import { randomBytes } from 'node:crypto'
import type { Dynamo } from '../../foundation/dynamo.ts'
import { SECRET_BYTES } from '../core/bounds.ts'
import { secretKey } from '../core/keys.ts'
import { rotated, type SecretsChange, type TicketSecrets, withoutFormer } from '../core/secrets.ts'
import { decodeSecrets, encodeSecrets } from '../store/secret-item.ts'
import { attempts, done } from './attempts.ts'
import { outOfReach } from './table-secrets.ts'

export type SecretsChanged =
  | SecretsChange
  /** No ticket has been signed yet; the first makes the secret. */
  | { readonly kind: 'none' }

/** People change secrets by hand, now and then. */
const ATTEMPTS_MAX = 5

/** The time of a change. We ask for it after reading the row. */
type NowMs = () => number

export function rotateSecret(dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> {
  const fresh = randomBytes(SECRET_BYTES)
  return change(dynamo, (secrets) =>
    // An earlier attempt wrote it, and its answer was lost.
    Buffer.compare(secrets.newest, fresh) === 0
      ? { kind: 'changed', secrets }
      : rotated(secrets, fresh, Math.floor(nowMs())),
  )
}

export const forgetFormerSecrets = (dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> =>
  change(dynamo, (secrets) => withoutFormer(secrets, Math.floor(nowMs())))

const change = (
  dynamo: Dynamo,
  decide: (secrets: TicketSecrets) => SecretsChange,
): Promise<SecretsChanged> =>
  attempts<SecretsChanged>(
    ATTEMPTS_MAX,
    async () => {
      const before = decodeSecrets(await dynamo.get(secretKey, true))
      if (before === undefined) return done({ kind: 'none' })
      const decision = decide(before)
      if (decision.kind === 'settling' || decision.secrets === before) return done(decision)
      const written = await dynamo.put({
        Item: encodeSecrets(decision.secrets),
        ConditionExpression: unchanged(before),
        ExpressionAttributeValues: { ':seen': before.newest },
      })
      return written.kind === 'done' ? done(decision) : { kind: 'again' }
    },
    outOfReach,
  )

/** Fails if another command changed the row first, be it the secret or only by forgetting the former ones. */
const unchanged = ({ former }: TicketSecrets): string =>
  `s=:seen AND ${former.length === 0 ? 'attribute_not_exists' : 'attribute_exists'}(f)`
