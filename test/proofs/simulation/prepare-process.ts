/**
 * What must have happened before the first seed, so that no run differs from another: modules that
 * the engine loads late are loaded (their loading takes turns of the real event loop), and errors
 * carry no stacks, which cost more than the rest of a refused write.
 */
export async function prepareProcess(options: { readonly stacks?: boolean } = {}): Promise<void> {
  await import('@aws-sdk/client-s3')
  Error.stackTraceLimit = options.stacks ? 30 : 0
}
