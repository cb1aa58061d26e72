import { RemovalPolicy } from 'aws-cdk-lib/core'

/**
 * What outlives its stack, unless the stack is for throwing away; but not a first deployment that fails,
 * because then it is empty, and nobody would know of it.
 */
export const kept = (throwaway: boolean): RemovalPolicy =>
  throwaway ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
