import { Validations } from 'aws-cdk-lib/core'
import type { IConstruct } from 'constructs'

/** Tells cdk-nag which of its rules a construct breaks on purpose, each with the reason. */
export function acknowledge(
  construct: IConstruct,
  reasons: Readonly<Record<string, string>>,
): void {
  const validations = Validations.of(construct)
  for (const [id, reason] of Object.entries(reasons)) validations.acknowledge({ id, reason })
}
