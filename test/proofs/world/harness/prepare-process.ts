/**
 * Makes every run alike: loads the modules that the engine loads late, because loading takes turns of the
 * real event loop, and switches stacks off, because they cost more than the rest of a refused write.
 */
export async function prepareProcess(options: { readonly stacks?: boolean } = {}): Promise<void> {
  await Promise.all([import('@aws-sdk/client-s3'), import('croner')])
  Error.stackTraceLimit = options.stacks ? 30 : 0
}
