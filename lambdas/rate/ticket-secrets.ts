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

/** The secrets in the table. They sign the tickets of rate limits, unless the caller brings a secret. */
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
  /** The time by the store's clock, once it has answered. Changes use that, because our clock may be wrong. */
  nowMs(): number
  /** Undefined before the first ticket is signed. */
  read(): Promise<TicketSecrets | undefined>
  /** Makes a new secret. It begins to sign once every process knows it, and existing tickets stay valid. */
  rotate(): Promise<SecretsChanged>
  /** For use after a leak: voids every ticket that a former secret has signed. */
  forgetFormer(): Promise<SecretsChanged>
}
