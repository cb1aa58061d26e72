import type { Secrets } from '../operations/limiter.ts'
import { FORMER_SECRETS_MAX, SECRET_BYTES_MIN, SECRET_SETTLES_MS } from './bounds.ts'
import { invalid } from './settings.ts'

/** The table's secrets for signing tickets. */
export type TicketSecrets = {
  readonly newest: Uint8Array
  /** From then on, the newest secret signs. By then every process has read it and accepts its tickets. */
  readonly signsFromMs: number
  /** Those that signed before it, the latest first. Their tickets stay valid. */
  readonly former: readonly Uint8Array[]
}

export const firstSecrets = (newest: Uint8Array): TicketSecrets => ({
  newest,
  signsFromMs: 0,
  former: [],
})

export function secretsAt({ newest, signsFromMs, former }: TicketSecrets, nowMs: number): Secrets {
  const [before, ...older] = former
  if (before === undefined || nowMs >= signsFromMs) return [newest, ...former]
  return [before, newest, ...older]
}

export type SecretsChange =
  | { readonly kind: 'changed'; readonly secrets: TicketSecrets }
  /** Some processes may not have read the last change yet. After another one they could disagree. */
  | { readonly kind: 'settling'; readonly untilMs: number }

export function rotated(secrets: TicketSecrets, fresh: Uint8Array, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, ({ newest, former }) => ({
    newest: fresh,
    signsFromMs: nowMs + SECRET_SETTLES_MS,
    former: [newest, ...former].slice(0, FORMER_SECRETS_MAX),
  }))
}

/** Voids every ticket that a former secret has signed, honest or forged. */
export function withoutFormer(secrets: TicketSecrets, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, (before) =>
    before.former.length === 0 ? before : { ...before, former: [] },
  )
}

function settled(
  secrets: TicketSecrets,
  nowMs: number,
  change: (secrets: TicketSecrets) => TicketSecrets,
): SecretsChange {
  const { signsFromMs: untilMs } = secrets
  return nowMs < untilMs
    ? { kind: 'settling', untilMs }
    : { kind: 'changed', secrets: change(secrets) }
}

export function checkSecret(secret: Uint8Array): void {
  if (secret.byteLength >= SECRET_BYTES_MIN) return
  throw invalid(
    'secret',
    `it must have at least ${SECRET_BYTES_MIN} bytes, not ${secret.byteLength}`,
  )
}
