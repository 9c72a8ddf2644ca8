/* A tensor and nothing done with it: what nnopbase alone is linked for. */
#include <acl/acl.h>
#include <aclnn/acl_meta.h>

int main(void)
{
    float data[6] = { 0 };
    const int64_t shape[] = { 2, 3 };
    const aclTensor *tensor =
            aclCreateTensor(shape, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, data);
    return tensor == NULL || aclDestroyTensor(tensor) != 0;
}
