import type { Queues } from '../../../../lambdas/engine/queues.ts'
import type { CommandOf, Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'

export type Say = (rule: string, explanation: string) => void

/** A success under judgement: what the caller asked and what it got. */
export type Answer<V extends Verb = Verb> = {
  readonly model: Model
  readonly operation: Operation<CommandOf<V>>
  readonly value: Awaited<ReturnType<Queues[V]>>
  readonly say: Say
}

/** A refusal, by its code. */
export type Refusal = Omit<Answer, 'value'> & { readonly code: string }
