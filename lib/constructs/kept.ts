import { RemovalPolicy } from 'aws-cdk-lib/core'

/**
 * For a resource that outlives its stack, unless it is a throwaway stack. If the first deployment
 * fails, CloudFormation deletes it with the rest: it is still empty, and nobody would look for it.
 */
export const kept = (throwaway: boolean): RemovalPolicy =>
  throwaway ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
