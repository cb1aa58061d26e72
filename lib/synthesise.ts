import { pushPopApp } from './pushpop-app.ts'

export type SynthesiseOptions = {
  readonly outdir: string
  /** Settings, as `-c name=value` would give them. */
  readonly context?: Readonly<Record<string, unknown>>
}

/**
 * Writes the cloud assembly, bundles included, in this process: no CLI, no account. Not checked
 * against CloudFormation's schemas, as `cdk synth` does, which takes longer than all the rest (1.3 s).
 */
export function synthesise({ outdir, context }: SynthesiseOptions): { templatePath: string } {
  const assembly = pushPopApp({ outdir, checked: false, ...(context && { context }) }).synth()
  const [stack] = assembly.stacks
  if (stack === undefined) throw new Error('Cannot synthesise because the app has no stack')
  return { templatePath: stack.templateFullPath }
}
