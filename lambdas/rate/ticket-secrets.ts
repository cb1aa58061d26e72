import { type Clock, Dynamo } from '../foundation/dynamo.ts'
import { systemClock } from '../foundation/system.ts'
import { secretKey } from './core/keys.ts'
import type { TicketSecrets } from './core/secrets.ts'
import {
  forgetFormerSecrets,
  rotateSecret,
  type SecretsChanged,
} from './operations/change-secrets.ts'
import type { RateLimitsOptions } from './rate-limits.ts'
import { decodeSecrets } from './store/secret-item.ts'
import { storeTime } from './store/store-time.ts'

export type { SecretsChanged, TicketSecrets }

export type TicketSecretsOptions = Pick<RateLimitsOptions, 'tableName' | 'dynamodb'> & {
  readonly clock?: Clock | undefined
}

/** The table's own secrets: they sign the tickets of rate limits, unless the caller brings a secret. */
export function createTicketSecrets(options: TicketSecretsOptions): TicketSecretVerbs {
  const { tableName, clock = systemClock } = options
  const { port, nowMs } = storeTime(options.dynamodb, clock)
  const dynamo = new Dynamo(port, tableName, clock, Math.random)
  return {
    nowMs,
    read: async () => decodeSecrets(await dynamo.get(secretKey, true)),
    rotate: () => rotateSecret(dynamo, nowMs),
    forgetFormer: () => forgetFormerSecrets(dynamo, nowMs),
  }
}

export interface TicketSecretVerbs {
  /** By the store's clock, once it has answered; changes go by that, because ours may be wrong. */
  nowMs(): number
  /** Nothing where no ticket has been signed yet. */
  read(): Promise<TicketSecrets | undefined>
  /** Makes a new secret. It begins to sign when every process knows it, and tickets stay good. */
  rotate(): Promise<SecretsChanged>
  /** For a secret that has leaked: voids every ticket that a former one has signed. */
  forgetFormer(): Promise<SecretsChanged>
}
